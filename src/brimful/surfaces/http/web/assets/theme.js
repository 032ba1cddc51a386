// Light or dark? Before the first paint: what was chosen here last, else what the system says.
try {
  const chosen = localStorage.getItem("brimful.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // a browser that remembers nothing
}
