// What Airflow's frame keeps from the page: its links into Airflow, and the theme that was chosen.

// The frame is a sandbox whose links lead nowhere else. Those of the window around it do.
addEventListener("click", (event) => {
  const link = event.target.closest('a[target="_top"]');
  const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
  if (link === null || elsewhere || parent === window) return;
  event.preventDefault();
  const outside = parent.document.createElement("a");
  outside.href = link.href;
  outside.click();
});

// Airflow keeps here what its user has chosen: light, dark, or what the system has.
const follow = () => {
  const chosen = localStorage.getItem("theme");
  document.documentElement.style.colorScheme = ["light", "dark"].includes(chosen) ? chosen : "";
};
addEventListener("storage", follow);
follow();
