"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const show = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; show(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
  const data = document.getElementById("data");
  const save = document.getElementById("save");
  save.hidden = data === null;
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([data.textContent], { type: "application/json" }));
    link.download = "warplens.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  for (const box of document.querySelectorAll(".tools")) {
    box.hidden = false;
    const listing = box.nextElementSibling;
    box.querySelector("input").addEventListener("change", (event) => {
      listing.classList.toggle("counted", event.target.checked);
    });
  }
})();
