// Words: on the time axis of the open window, in lanes so that they can be read.

const UNSPACED = ["ja", "lo", "my", "th", "yue", "zh"];
const WORD_LANES = 3;
const LETTER_WIDTH = 6.2;
const LAST_WORD_SECONDS = 0.3; // of a word that nothing follows
const ENCODER = new TextEncoder();

// The UTF-8 bytes of a text as characters; bytes that are no whole character are spelled \xNN in a token.
const bytesOf = (text) =>
  text
    .split(/(\\x[0-9a-f]{2})/)
    .map((part, number) =>
      number % 2 ? String.fromCharCode(parseInt(part.slice(2), 16)) : String.fromCharCode(...ENCODER.encode(part)),
    )
    .join("");

// Words with times of their own, each with the tokens that spell it, found by the bytes of their segment. Segments of
// which this attempt has nothing, as the coverage guard finds them, have no tokens here.
function timedWords(summary, attempt, texts) {
  const said = attempt.tokens.map(({ token }) => (isText(attempt, token) ? bytesOf(texts[token]) : ""));
  const spelling = said.flatMap((bytes, index) => Array(bytes.length).fill(index));
  const all = said.join("");
  let behind = 0;
  return summary.segments.flatMap((segment) => {
    const bytes = bytesOf(segment.words.map(([text]) => text).join(""));
    const found = all.indexOf(bytes, behind);
    let at = found < 0 ? all.length : found;
    if (found >= 0) behind = found + bytes.length;
    return segment.words.map(([text, start, end, prob]) => {
      const tokens = spelling.slice(at, (at += bytesOf(text).length));
      return { text, start, end, prob, first: tokens[0], last: tokens.at(-1) };
    });
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
          onclick: word.first === undefined ? null : () => selectStep(word.first),
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
