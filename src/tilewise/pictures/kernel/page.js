"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
    } catch {
      const command = button.parentElement.querySelector("code");
      getSelection().selectAllChildren(command);
      button.textContent = document.execCommand("copy") ? "copied" : "selected";
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", open);
open();
