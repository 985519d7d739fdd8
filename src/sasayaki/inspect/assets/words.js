// Words: on the time axis of the open window, in lanes so that they can be read.

const UNSPACED = ["ja", "lo", "my", "th", "yue", "zh"];
const WORD_LANES = 3;
const LETTER_WIDTH = 6.2;
const LAST_WORD_SECONDS = 0.3; // of a word that nothing follows

// Length of a text in UTF-8; bytes that are no whole character are spelled \xNN in a token.
const nBytes = (text) => new TextEncoder().encode(text.replace(/\\x[0-9a-f]{2}/g, ".")).length;

// Words with times of their own, each with the tokens that spell it, found by counting bytes.
function timedWords(summary, attempt, texts) {
  const spelling = attempt.tokens.flatMap(({ token }, index) =>
    isText(attempt, token) ? Array(nBytes(texts[token])).fill(index) : [],
  );
  let at = 0;
  return summary.segments
    .flatMap((segment) => segment.words)
    .map(([text, start, end, prob]) => {
      const tokens = spelling.slice(at, (at += nBytes(text)));
      return { text, start, end, prob, first: tokens[0], last: tokens.at(-1) };
    });
}

// Words begin where the alignment path has their first token; in writing without spaces each token is one.
function attendedWords(summary, attempt, texts) {
  if (!attempt.attention) return [];
  const isSpaced = !UNSPACED.includes(summary.language);
  const words = [];
  let open = null;
  attempt.tokens.forEach(({ token, prob }, index) => {
    const column = attempt.attention.path[index];
    const at = column === undefined ? summary.end : summary.start + column * COLUMN_SECONDS;
    const isWord = isText(attempt, token);
    if (open && (!isWord || !isSpaced || texts[token].startsWith(" "))) {
      open.end = Math.min(at, open.end);
      open = null;
    }
    if (!isWord) return;
    if (!open) words.push((open = { text: "", start: at, first: index, prob: 1 }));
    open.text += texts[token];
    open.last = index;
    open.end = at + LAST_WORD_SECONDS;
    open.prob = Math.min(open.prob, prob ?? 1);
  });
  return words;
}

function drawWords(summary, attempt, texts) {
  const timed = attempt.isKept ? timedWords(summary, attempt, texts) : [];
  const words = timed.length ? timed : attendedWords(summary, attempt, texts);
  byId("words").hidden = !words.length;
  const pixels = byId("stack-inner").clientWidth / (summary.end - summary.start);
  byId("words").replaceChildren(
    ...words.map((word, number) => {
      const room = ((words[number + WORD_LANES]?.start ?? summary.end) - word.start) * pixels;
      const text = word.text.trim();
      const item = element(
        "button",
        {
          type: "button",
          tabindex: -1,
          class: room > text.length * LETTER_WIDTH ? "" : "narrow",
          "--tone": tone(word.prob),
          title: `${text}: ${percent(word.prob)}`,
          onclick: () => selectStep(word.first),
        },
        text,
      );
      item.dataset.first = word.first;
      item.dataset.last = word.last;
      const holder = element("span", { role: "listitem", "--lane": number % WORD_LANES }, item);
      return place(holder, summary, word.start, Math.min(word.end, summary.end));
    }),
  );
}

function markWord(step) {
  for (const item of byId("words").querySelectorAll("button")) {
    markCurrent(item.parentNode, item.dataset.first <= step && step <= item.dataset.last);
  }
}
