"""Small words by language: before which a line may well break, and after which it had better not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class SmallWords:
    """Words in lower case.

    Attributes:
        openers: conjunctions, prepositions and relative words, which open a phrase: a good place to break before.
        binders: articles, determiners, subject pronouns and auxiliaries, which bind to the next word, as openers do.
        numbers: number words and magnitudes.
        months: names of months, which bind to a number beside them.
    """

    openers: frozenset[str] = frozenset()
    binders: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    months: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """All of them but months: words that are no names when they are capitalised."""
        return self.openers | self.binders | self.numbers


def to_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _words(openers: str, binders: str, numbers: str = "", months: str = "") -> SmallWords:
    return SmallWords(*map(to_set, (openers, binders, numbers, months)))


_LANGUAGES: Mapping[str, SmallWords] = MappingProxyType(
    {
        "en": _words(
            "and or but nor so yet because although though while when whenever where if unless until since than that "
            "which who whom whose as after before of in on at by for with without from to into onto about above "
            "across against along among around behind below beneath beside between beyond during except inside near "
            "off over past through toward towards under upon within",
            "a an the this that these those my your his her its our their some any every each no i you he she it we "
            "they is am are was were be been being have has had do does did will would shall should can could may "
            "might must not don't doesn't didn't won't can't i'm you're he's she's it's we're they're i've we've "
            "very",
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
            "million billion trillion percent point dozen",
            "january february march april may june july august september october november december",
        ),
        "de": _words(
            "und oder aber denn sondern weil dass daß ob wenn als während obwohl damit bevor nachdem bis wie wo in "
            "im an am auf aus bei beim mit nach seit von vom zu zum zur über unter vor zwischen durch für gegen ohne "
            "um",
            "der die das den dem des ein eine einen einem einer eines mein dein sein ihr unser euer kein keine diese "
            "dieser dieses ich du er sie es wir nicht ist sind war waren hat haben wird werden kann muss soll sehr",
            "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend million millionen "
            "milliarden prozent komma",
            "januar februar märz april mai juni juli august september oktober november dezember",
        ),
        "fr": _words(
            "et ou mais donc or ni car que qui quand lorsque parce puisque comme si dont où à au aux de du des en "
            "dans sur sous par pour avec sans vers chez entre depuis pendant avant après contre",
            "le la les un une ce cet cette ces mon ma mes ton ta tes son sa ses notre votre leur leurs je tu il elle "
            "on nous vous ils elles ne est sont était a ont avait sera très",
            "deux trois quatre cinq six sept huit neuf dix cent cents mille million millions milliard virgule",
            "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        ),
        "es": _words(
            "y e o u pero sino porque que quien cuando donde como si aunque mientras a al de del en con sin por para "
            "sobre entre hacia hasta desde según contra durante ante tras",
            "el la los las un una unos unas este esta estos estas ese esa mi tu su sus nuestro yo él ella nosotros "
            "ellos no es son era ha han había será muy se me te le lo",
            "dos tres cuatro cinco seis siete ocho nueve diez cien ciento mil millón millones coma",
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        ),
        "it": _words(
            "e ed o ma perché che chi quando dove come se anche mentre a al alla di del della dei in nel nella con "
            "senza per su sul sulla tra fra da dal dalla",
            "il lo la i gli le un uno una questo questa quel quella mio tuo suo nostro io lui lei noi voi loro non è "
            "sono era ha hanno aveva sarà molto si mi ti ci",
            "due tre quattro cinque sei sette otto nove dieci cento mille mila milione milioni virgola",
        ),
        "pt": _words(
            "e ou mas porque que quem quando onde como se embora enquanto a ao à de do da dos das em no na nos nas "
            "com sem por pelo pela para sobre entre até desde contra",
            "o os as um uma uns umas este esta esse essa meu minha seu sua nosso eu ele ela nós eles não é são era "
            "tem têm foi será muito me te lhe",
            "dois três quatro cinco seis sete oito nove dez cem cento mil milhão milhões vírgula",
        ),
        "nl": _words(
            "en of maar want omdat dat die wie wat wanneer waar als toen terwijl hoewel in op aan uit bij met naar "
            "van voor door over onder tussen tegen zonder om tot te sinds",
            "de het een deze dit mijn jouw zijn haar ons onze hun ik jij je hij zij ze wij we niet is was waren "
            "heeft hebben had wordt kan moet zal zeer",
            "twee drie vier vijf zes zeven acht negen tien honderd duizend miljoen miljard komma",
        ),
    }
)  # fmt: skip

_NONE = SmallWords()


def small_words(language: str) -> SmallWords:
    """The small words of a language code; none for a language without a list."""
    return _LANGUAGES.get(language, _NONE)
