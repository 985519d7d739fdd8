"""Make tests/golden/tokenizer.json: what openai/whisper says about the texts below and about random ids.

pip install openai-whisper==20250625
python scripts/make_tokenizer_golden.py
"""

import json
import random
from pathlib import Path

from whisper.tokenizer import get_tokenizer

OUT = Path(__file__).parents[1] / "tests/golden/tokenizer.json"
VOCABULARIES = {51864: (False, 99), 51865: (True, 99), 51866: (True, 100)}

# (language, text); the language decides how words are split.
TEXTS = (
    ("en", " The kettle isn't warm yet, so we'll wait; it's 7:45 a.m. and they've got $12.50 (about €11)."),
    (
        "en",
        ' Well... "no" -- said O\'Brien!  Two spaces,\ttab,\nnew line, e-mail: someone@example.org #1 50%',
    ),
    ("en", "no space before the first word"),
    ("en", " Emoji: 👩‍👩‍👧 🇩🇰 👍🏽 ☕️ and ♪ music ♪♪♪ 「quoted」 <<x>> [[y]] {{z}} don't DON'T"),
    ("en", " naïve café coöperate Ångström — dash – en-dash … ellipsis “curly” ‘single’ ½ x² ∑ 中"),
    ("zh", "今天早上下了很大的雨，我们还是走路去学校。龘靐齉爩鱻麤"),
    ("zh", " 我用 Python 3 写程序，版本是 3.11。"),
    ("yue", "佢哋琴晚喺屋企食咗飯先至出街，冇帶遮添。"),
    ("ja", "昨日の夜、駅の前で友だちに会いました。「元気？」と聞かれた。"),
    ("ja", "コーヒーとパンを二つください。鬱蒼"),
    ("ko", " 내일 아침에는 눈이 많이 올 것 같아서 일찍 출발하려고 해요."),
    ("th", "พรุ่งนี้เช้าเราจะไปตลาดซื้อผลไม้และปลาสด"),
    ("lo", "ມື້ນີ້ອາກາດດີຫຼາຍ ພວກເຮົາໄປຍ່າງຫຼິ້ນແຄມຂອງ"),
    ("my", "ဒီနေ့ရာသီဥတုကောင်းတယ်၊ လမ်းလျှောက်ထွက်မယ်။"),
    ("km", "ថ្ងៃនេះមេឃស្រឡះ យើងនឹងទៅផ្សារ។"),
    ("bo", "དེ་རིང་གནམ་གཤིས་ཡག་པོ་འདུག"),
    ("de", " Übermorgen fahren wir über Köln nach Großgörschen, wenn's nicht schneit."),
    ("fr", " L'été dernier, j'ai goûté une crème brûlée à Besançon ; c'était délicieux !"),
    ("es", " ¿Cuándo llegará el señor Muñoz? ¡Mañana por la mañana, seguro!"),
    ("pt", " Amanhã não há pão; a irmã do João já comprou maçãs."),
    ("it", " Perché l'università è già chiusa? Dov'è finita la chiave?"),
    ("ca", " El gos d'en Jordi col·lecciona ossos a la plaça."),
    ("da", " Den ældre mand på øen spiste blåbærgrød ved åen."),
    ("sv", " Älgen går över ängen på väg mot sjön."),
    ("no", " Blåbær og rømmegrøt er godt på fjellet."),
    ("is", " Þórður ætlar að gefa öllum börnunum ís á morgun."),
    ("fo", " Í dag er gott veður í Føroyum."),
    ("fi", " Yöllä satoi räntää, mutta äiti lähti silti töihin."),
    ("et", " Õhtul sõime kapsasuppi ja jõime jõhvikamahla."),
    ("lv", " Šodien ir ļoti auksts, tāpēc ēdīsim zupu."),
    ("lt", " Šiandien žvejai grįžo į uostą su pilnais tinklais."),
    ("pl", " Zażółć gęślą jaźń, powiedział pięćdziesięcioletni źrebak."),
    ("cs", " Příliš žluťoučký kůň úpěl ďábelské ódy."),
    ("sk", " Kŕdeľ šťastných ďatľov učí pri ústí Váhu mĺkveho koňa."),
    ("sl", " Čez cesto teče žejen ježek."),
    ("hr", " Đurđica je kupila čokoladu, šljive i žute ćevape."),
    ("hu", " Árvíztűrő tükörfúrógépet hoztam a műhelyből."),
    ("ro", " Mâine dimineață își ia țuica și pleacă în oraș."),
    ("sq", " Sot është ditë e bukur dhe fëmijët luajnë në fushë."),
    ("tr", " Çocuklar bahçede oynarken yağmur başladı; İstanbul'da öğle vakti."),
    ("az", " Səhər tezdən bazara getdik, üzüm və çörək aldıq."),
    ("vi", " Sáng nay trời mưa, tôi ở nhà uống cà phê và đọc sách."),
    ("mt", " Illum ix-xemx qawwija u l-baħar kalm ħafna."),
    ("cy", " Mae hi'n bwrw glaw heddiw, felly arhoswn gartref."),
    ("ru", " Ёжик съел объявление, а потом пошёл в подъезд."),
    ("uk", " Їжак і ґава зустрілися біля під'їзду."),
    ("bg", " Ще ядем юфка с кисело мляко в четвъртък."),
    ("sr", " Љубав и џем од шљива чувају се у чаши."),
    ("kk", " Бүгін күн ашық, біз көлге серуендеуге барамыз."),
    ("mn", " Өнөөдөр салхитай байна, бид гэртээ үлдэнэ."),
    ("el", " Το καλοκαίρι τρώμε καρπούζι· θέλεις λίγο;"),
    ("ka", " დილით ბაღში ვარდები მოვრწყე და ჩაი დავლიე."),
    ("hy", " Այսօր եղանակը լավ է, գնանք զբոսնելու։"),
    ("he", " היום בבוקר קניתי לחם וחלב בשוק."),
    ("yi", " הײַנט איז אַ שיינער טאָג."),
    ("ar", " ذهبتُ إلى السوق صباحًا، واشتريتُ تمرًا ولبنًا؟"),
    ("fa", " فردا می‌رویم کوه و چای می‌نوشیم."),
    ("ur", " آج موسم بہت اچھا ہے، چلو باہر چلتے ہیں۔"),
    ("hi", " कल सुबह हम बाज़ार जाकर ताज़ी सब्ज़ियाँ लाएँगे।"),
    ("bn", " আজ সকালে খুব বৃষ্টি হয়েছে, তাই বেরোইনি।"),
    ("ta", " இன்று காலை மழை பெய்தது, நாங்கள் வீட்டில் இருந்தோம்."),
    ("te", " ఈ రోజు ఉదయం వర్షం పడింది."),
    ("kn", " ಇಂದು ಬೆಳಿಗ್ಗೆ ಮಳೆ ಬಂತು."),
    ("ml", " ഇന്ന് രാവിലെ മഴ പെയ്തു."),
    ("gu", " આજે સવારે વરસાદ પડ્યો."),
    ("pa", " ਅੱਜ ਸਵੇਰੇ ਮੀਂਹ ਪਿਆ।"),
    ("si", " අද උදේ වැස්සා."),
    ("am", " ዛሬ ጠዋት ዝናብ ዘነበ።"),
    ("sw", " Leo asubuhi tulikwenda sokoni kununua ndizi."),
    ("yo", " Ọjọ́ dára lónìí, ẹ jẹ́ ká jáde."),
    ("haw", " ʻO kēia lā he lā maikaʻi loa."),
)


def facts(n_vocab: int) -> dict[str, object]:
    """What the reference says for one vocabulary."""
    multilingual, num_languages = VOCABULARIES[n_vocab]

    def tokenizer(language: str | None, task: str | None = None):
        return get_tokenizer(multilingual, num_languages=num_languages, language=language, task=task)

    plain = tokenizer(None)
    languages = ["en", "ja", "haw"] + (["yue"] if num_languages == 100 else [])
    markers = ("eot", "sot", "transcribe", "translate", "sot_lm", "sot_prev", "no_speech", "no_timestamps")
    # A code that has no token yet is split as its twin: Cantonese like Chinese.
    twin = {} if num_languages == 100 else {"yue": "zh"}
    return {
        "ids": {name: getattr(plain, name) for name in (*markers, "timestamp_begin")},
        "language_tokens": sorted(plain.all_language_tokens),
        "sot_sequences": {
            f"{language} {task}": tokenizer(language, task).sot_sequence
            for language in (languages if multilingual else ["en"])
            for task in ("transcribe", "translate")
        },
        "non_speech_tokens": plain.non_speech_tokens,
        "texts": [text_facts(tokenizer(twin.get(language, language)), language, text) for language, text in TEXTS],
        "random": [random_facts(plain, random.Random(seed)) for seed in range(30)],
    }


def text_facts(tokenizer, language: str, text: str) -> dict[str, object]:
    """Ids of a text, and how many of them each word takes."""
    tokens = tokenizer.encode(text)
    words, word_tokens = tokenizer.split_to_word_tokens(tokens)
    return {
        "language": language,
        "text": text,
        "tokens": tokens,
        "words": words,
        "sizes": list(map(len, word_tokens)),
    }


def random_facts(tokenizer, source: random.Random) -> dict[str, object]:
    """Texts of random text and timestamp ids."""
    tokens = [source.randrange(tokenizer.eot) for _ in range(source.randrange(1, 12))]
    tokens += [source.randrange(256) for _ in range(source.randrange(6))]  # single bytes
    tokens += [tokenizer.timestamp_begin + source.randrange(1501) for _ in range(source.randrange(1, 3))]
    source.shuffle(tokens)
    return {
        "tokens": tokens,
        "text": tokenizer.decode(tokens),
        "with_timestamps": tokenizer.decode_with_timestamps(tokens),
    }


def main() -> None:
    """Write the file."""
    golden = {str(n_vocab): facts(n_vocab) for n_vocab in VOCABULARIES}
    del golden["51866"]["texts"]  # its text tokens are those of 51865
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
