// Decides the look that a person chose: light or dark.

const themeKey = "lupin.theme";

function systemTheme() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Applies the theme kept from before; without one, the system's holds. */
export function applyTheme() {
  const kept = localStorage.getItem(themeKey);
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}

export function toggleTheme() {
  const now = document.documentElement.dataset.theme ?? systemTheme();
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem(themeKey, next);
}
