// Tokens: the result as a line of buttons, coloured by probability.

function drawTokens(shown, attempt, choose) {
  const items = [];
  attempt.tokens.forEach((each, index) => {
    const text = shown.texts[each.token];
    const isWord = isText(attempt, each.token);
    const label = isWord ? text : spelled(text).replace("endoftext", "end");
    const previous = attempt.tokens[index - 1]?.token;
    if (index && isTimestamp(attempt, each.token) && isTimestamp(attempt, previous)) items.push(element("br"));
    items.push(
      element(
        "button",
        {
          type: "button",
          class: isWord ? "" : "special",
          "--tone": tone(each.prob),
          title: `${spelled(text)}: ${percent(each.prob)}`,
          "aria-label": `Token ${index + 1}: ${label.trim() || "space"}, ${percent(each.prob)}`,
          tabindex: -1,
          onclick: () => choose(index),
        },
        label,
      ),
    );
  });
  byId("tokens").replaceChildren(...(items.length ? items : [element("p", { class: "hint" }, "Nothing was sampled.")]));
  byId("prompt").textContent = attempt.prompt;
}

function markToken(step) {
  const hadFocus = byId("tokens").contains(document.activeElement);
  [...byId("tokens").querySelectorAll("button")].forEach((button, index) => {
    const isHere = index === step;
    markCurrent(button, isHere);
    button.tabIndex = isHere ? 0 : -1;
    if (!isHere) return;
    if (hadFocus) button.focus({ preventScroll: true });
    const box = byId("tokens");
    if (
      button.offsetTop < box.scrollTop + box.offsetTop ||
      button.offsetTop + button.offsetHeight > box.scrollTop + box.offsetTop + box.clientHeight
    ) {
      box.scrollTop = button.offsetTop - box.offsetTop - box.clientHeight / 2;
    }
  });
}
