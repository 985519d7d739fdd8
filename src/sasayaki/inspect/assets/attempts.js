// Attempts: the decodes of the window side by side, and why all but one were not kept.

const CHECKS = {
  compression_ratio_threshold: "compression_ratio",
  logprob_threshold: "avg_logprob",
  no_speech_threshold: "no_speech_prob",
};
const FIGURES = [
  ["avg_logprob", "log-prob.", 2],
  ["compression_ratio", "compression", 2],
  ["no_speech_prob", "no speech", 2],
];

function drawAttempts(shown, current, choose) {
  const attempts = shown.attempts;
  byId("attempts-hint").textContent = attemptsHint(attempts);
  byId("attempts").replaceChildren(
    ...attempts.map((attempt, number) =>
      element(
        "button",
        { type: "button", class: "attempt", "aria-pressed": String(number === current), onclick: () => choose(number) },
        element(
          "span",
          { class: "attempt-head" },
          `${number + 1}. temperature ${attempt.temperature.toFixed(1)}`,
          attempt.isKept ? element("span", { class: "tag kept" }, "kept") : "",
        ),
        element(
          "span",
          { class: "figures" },
          ...FIGURES.map(([name, label, digits]) => figure(attempt, name, label, digits)),
        ),
        ...attempt.failed.map((reason) =>
          element("span", {}, element("span", { class: "tag failed" }, `failed ${reason}`)),
        ),
        element("span", { class: "attempt-text" }, attempt.text || "(no text)"),
      ),
    ),
  );
}

function attemptsHint(attempts) {
  const hasPassed = attempts.some((each) => !each.failed.length);
  if (attempts.length === 1) return hasPassed ? "The first decode passed every check" : "Kept though it failed a check";
  return `${attempts.length} decodes${hasPassed ? ", until one passed every check" : "; none passed every check"}`;
}

function figure(attempt, name, label, digits) {
  const value = attempt.figures[name];
  const isBad = attempt.failed.some((reason) => CHECKS[reason] === name);
  return element(
    "span",
    { class: isBad ? "bad" : "" },
    element("b", {}, value === null ? "–" : value.toFixed(digits)),
    label,
  );
}
