// The page itself: theme, copying, unfolding, printing; and the start of all the rest.

function isDark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function startTheme() {
  const toggle = document.getElementById("theme");
  const settle = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `${isDark() ? "Light" : "Dark"} colours`);
    readColours();
    redraw();
  };
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    settle();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", settle);
  settle();
}

/** Copy a command, and say whether that worked. */
async function copy(event) {
  const pressed = event.currentTarget;
  const code = pressed.parentNode.querySelector("code");
  let done = true;
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    getSelection().selectAllChildren(code);
    done = document.execCommand("copy");
  }
  pressed.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => { pressed.textContent = "Copy"; }, 2000);
}

function unfold(event) {
  const folds = [...event.currentTarget.closest(".suspect").querySelectorAll(".fold")];
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
  event.currentTarget.textContent = open ? "Fold" : "Unfold all";
}

/** On paper nothing can be unfolded: all but long code is. */
function startPrinting() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.fold):not(.found)")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
}

/** A link into a folded part unfolds it. */
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  const fold = target && target.closest("details");
  if (fold) fold.open = true;
}

root.classList.add("scripted");
readColours();
for (const one of document.querySelectorAll(".copy")) one.addEventListener("click", copy);
for (const one of document.querySelectorAll(".unfold")) {
  one.hidden = !one.closest(".suspect").querySelector(".fold");
  one.addEventListener("click", unfold);
}
startPrinting();
startFilters();
const timeline = document.getElementById("timeline");
if (timeline) buildTimeline(timeline);
startTheme();
addEventListener("hashchange", openTarget);
