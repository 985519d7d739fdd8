// Tree: every hypothesis of the search, step by step from left to right, with the way of the result.

const TREE = { column: 78, row: 30, node: 66, height: 22, left: 12, top: 26, letters: 8 };
const SVG_ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (character) => SVG_ESCAPES[character]);

function drawTree(shown, attempt) {
  const nodes = treeNodes(attempt);
  const deepest = Math.max(1, ...nodes.map((node) => node.line + 1));
  const width = TREE.left * 2 + attempt.steps.length * TREE.column;
  const height = TREE.top + deepest * TREE.row + 8;
  const edges = nodes
    .filter((node) => node.parent)
    .map(edge)
    .sort((a, b) => a.order - b.order)
    .map(({ mark }) => mark);
  const steps = attempt.steps.map((_, step) => textMark("step", nodeX({ step }) + TREE.node / 2, 15, step + 1));
  const marks = [...steps, ...edges, ...nodes.map((node) => nodeMark(node, shown.texts))];
  const label = `Search of ${attempt.steps.length} steps with up to ${deepest} hypotheses`;
  byId("tree").innerHTML =
    `<svg width="${width}" height="${height}" role="img" aria-label="${label}">${marks.join("")}</svg>`;
  byId("tree-hint").textContent = attempt.steps.every(([rows]) => rows.length === 1)
    ? "One hypothesis: a straight line. With beams or samples, the others branch off here"
    : "Every hypothesis of every step; the green way is the result, pale ones were dropped, blue ones ended";
}

// Nodes of all offspring: living ones in the order of the search, ended ones below them.
function treeNodes(attempt) {
  const nodes = [];
  let before = [];
  attempt.steps.forEach(([, living, finished], step) => {
    const here = living.map(([row, token, sum], line) => ({
      step,
      row,
      token,
      sum,
      line,
      parent: before[row],
      isAlive: false,
    }));
    finished.forEach(([row, token, sum, stop], i) =>
      nodes.push({ step, row, token, sum, stop, line: here.length + i, parent: before[row], isAlive: true }),
    );
    nodes.push(...here);
    before = here;
  });
  nodes
    .filter((node) => node.stop)
    .concat(before)
    .forEach((leaf) => {
      for (let node = leaf; node && !(node.isAlive && node !== leaf); node = node.parent) node.isAlive = true;
    });
  attempt.path.forEach((row, step) => {
    const next = attempt.path[step + 1];
    const won = nodes.find(
      (node) =>
        node.step === step &&
        node.row === row &&
        node.token === attempt.tokens[step].token &&
        (next === undefined || node.line === next),
    );
    if (won) won.wins = true;
  });
  return nodes;
}

const nodeX = (node) => TREE.left + node.step * TREE.column;
const nodeY = (node) => TREE.top + node.line * TREE.row;

function edge(node) {
  const [x1, y1] = [nodeX(node.parent) + TREE.node, nodeY(node.parent) + TREE.height / 2];
  const [x2, y2] = [nodeX(node), nodeY(node) + TREE.height / 2];
  const kind = node.wins ? "wins" : node.isAlive ? "alive" : "";
  const bend = (x2 - x1) / 2;
  return {
    order: node.wins ? 2 : node.isAlive ? 1 : 0,
    mark: `<path class="edge ${kind}" d="M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}"/>`,
  };
}

function nodeMark(node, texts) {
  const text = node.token === null ? node.stop : spelled(texts[node.token]).replace("endoftext", "end");
  const short = text.length > TREE.letters ? `${text.slice(0, TREE.letters - 1)}…` : text;
  const kinds = ["node", node.wins && "wins", node.isAlive && "alive", node.stop && "ended"].filter(Boolean).join(" ");
  const title = `${text}, sum of log-probabilities ${logprobText(node.sum)}${node.stop ? `, ended: ${node.stop}` : ""}`;
  const [x, y] = [nodeX(node), nodeY(node)];
  const box = `<rect x="${x}" y="${y}" width="${TREE.node}" height="${TREE.height}" rx="6"/>`;
  const content = `<title>${escaped(title)}</title>${box}${textMark("", x + TREE.node / 2, y + 15, short)}`;
  return `<g class="${kinds}" data-step="${node.step}" data-row="${node.row}">${content}</g>`;
}

function textMark(kind, x, y, text) {
  return `<text class="${kind}" x="${x}" y="${y}" text-anchor="middle">${escaped(String(text))}</text>`;
}

// Marks the step and the hypothesis whose candidates are shown, by the nodes that grew from it.
function markTree(step, row) {
  const tree = byId("tree");
  for (const node of tree.querySelectorAll(".node")) {
    node.classList.toggle("here", Number(node.dataset.step) === step && Number(node.dataset.row) === row);
  }
  const x = TREE.left + step * TREE.column;
  if (x < tree.scrollLeft + 60 || x + TREE.column > tree.scrollLeft + tree.clientWidth - 60)
    tree.scrollLeft = x - tree.clientWidth / 2;
}

// Hypotheses that read alike may differ in their times, so times are shown.
function drawHypotheses(shown, attempt) {
  byId("hypotheses").replaceChildren(
    ...attempt.hypotheses.map((each, rank) =>
      element(
        "li",
        {},
        element("span", { class: "mono" }, `${rank + 1}.`),
        element("span", { class: "mono", title: "score" }, each.score?.toFixed(3) ?? "−∞"),
        element("span", { class: "mono", title: "why it ended" }, each.stop),
        element(
          "span",
          {},
          ...each.tokens.map((token) =>
            isText(attempt, token)
              ? shown.texts[token]
              : element("span", { class: "time" }, isTimestamp(attempt, token) ? spelled(shown.texts[token]) : ""),
          ),
        ),
      ),
    ),
  );
}
