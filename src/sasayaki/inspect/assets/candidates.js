// Candidates: the hypotheses alive at a step, and what could follow one of them before and after each filter.

function drawCandidates(shown, attempt, step, row) {
  const [rows, living, finished] = attempt.steps[step];
  byId("rows").replaceChildren(
    ...rows.map(([sum], number) =>
      element(
        "button",
        {
          type: "button",
          class: `row ${attempt.path[step] === number ? "wins" : ""}`,
          "aria-pressed": String(number === row),
          "aria-label": `Hypothesis ${number + 1}, ${textOf(attempt, shown.texts, step, number)}`,
          onclick: () => selectStep(step, number),
        },
        element("span", { class: "no" }, attempt.path[step] === number ? `★${number + 1}` : `${number + 1}`),
        element("span", { class: "said" }, element("bdi", {}, textOf(attempt, shown.texts, step, number) || "(start)")),
        element("span", { class: "sum", title: "sum of log-probabilities" }, logprobText(sum)),
      ),
    ),
  );
  const [, candidates, effects] = rows[row];
  const taken = new Map(
    [...living, ...finished]
      .filter(([from]) => from === row)
      .map(([, token]) => [token, living.some(([from, id]) => from === row && id === token)]),
  );
  const won = attempt.path[step] === row ? attempt.tokens[step]?.token : undefined;
  const which = rows.length === 1 ? "one hypothesis" : `hypothesis ${row + 1} of ${rows.length}`;
  byId("candidates-hint").textContent =
    `Step ${step + 1} of ${attempt.steps.length}, ${which}: what could come next, before and after each filter`;
  byId("table").replaceChildren(
    candidates.length
      ? candidateTable(shown, attempt, candidates, effects, taken, won)
      : element(
          "p",
          { class: "hint" },
          "This page keeps the candidates of the winning way only, as it would be too large; the trace has all.",
        ),
  );
  drawEffects(shown, attempt, effects);
}

function clearCandidates() {
  for (const id of ["rows", "table", "effects"]) byId(id).replaceChildren();
  byId("candidates-hint").textContent = "Nothing was sampled";
}

// The last words of a hypothesis at the start of a step, found by going back from row to row.
function textOf(attempt, texts, step, row) {
  let said = "";
  for (let back = step - 1; back >= 0 && said.length < 60; back--) {
    const [from, token] = attempt.steps[back][1][row];
    said = (isText(attempt, token) ? texts[token] : ` ${spelled(texts[token])} `) + said;
    row = from;
  }
  return said.replace(/ +/g, " ").trim();
}

function candidateTable(shown, attempt, candidates, effects, taken, won) {
  const hasBonus = candidates.some(([, bonus]) => bonus);
  const heads = [
    element("th", { scope: "col" }, "Token"),
    element("th", { scope: "col" }, "Model", element("small", {}, "before filters")),
    ...attempt.stages.map((name, stage) =>
      element("th", { scope: "col" }, name, element("small", {}, effectLine(effects[stage]))),
    ),
    ...(hasBonus ? [element("th", { scope: "col" }, "Scorers", element("small", {}, "added for the search"))] : []),
  ];
  const lines = candidates.map(([token, bonus, ...logprobs]) => {
    const isWon = token === won;
    const note = isWon
      ? element("span", { class: "pick" }, "✓ result")
      : taken.has(token)
        ? element("span", { class: "pick other" }, taken.get(token) ? "lives on" : "ended")
        : "";
    return element(
      "tr",
      { class: `${isWon ? "chosen" : ""} ${logprobs.at(-1) === null ? "out" : ""}` },
      element("td", {}, tokenLabel(shown.texts[token]), note),
      ...logprobs.map((logprob, stage) => element("td", {}, cell(logprob, stage ? logprobs[stage - 1] : 0))),
      ...(hasBonus
        ? [
            element(
              "td",
              {},
              bonus ? element("span", { class: "cell" }, `${bonus > 0 ? "+" : ""}${(bonus / 100).toFixed(2)}`) : "",
            ),
          ]
        : []),
    );
  });
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
}

function tokenLabel(text) {
  const [, space, rest] = spelled(text).match(/^(·?)([\s\S]*)$/);
  return element("span", { class: "token" }, element("span", { class: "space" }, space), rest);
}

function cell(logprob, before) {
  if (logprob === null)
    return element("span", { class: before === null ? "gone" : "banned" }, before === null ? "–" : "banned");
  const share = probability(logprob);
  return element(
    "span",
    { class: "cell", "--p": share.toFixed(4), title: `log-probability ${logprobText(logprob)}` },
    element("span", {}, percent(share)),
  );
}

function effectLine([banned, removed, changed]) {
  if (!banned && !changed) return "no effect";
  const parts = banned ? [`${banned} banned (${percent(removed)})`] : [];
  return [...parts, ...(changed ? [`${changed} changed`] : [])].join(", ");
}

function drawEffects(shown, attempt, effects) {
  const shownEffects = effects.map((effect, stage) => [attempt.stages[stage], effect]).filter(([, [banned]]) => banned);
  byId("effects").replaceChildren(
    ...shownEffects.map(([name, [banned, removed, , most]]) => {
      const worth = most.filter(([, prob]) => prob >= 0.0005);
      const list = worth.flatMap(([token, prob], i) => [
        i ? ", " : "",
        tokenLabel(shown.texts[token]),
        ` ${percent(prob)}`,
      ]);
      return element(
        "li",
        {},
        element("b", {}, name),
        ` banned ${banned} tokens worth ${percent(removed)}`,
        ...(list.length ? [": ", ...list] : []),
      );
    }),
  );
}
