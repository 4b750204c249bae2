"""How the page looks: in light and dark, on a desk and on a phone."""

STYLE = """
:root { color-scheme: light dark; --paper: #fffffe; --ink: #1f2933; --muted: #66707c; --line: #e3e7eb;
  --orange: #e69f00; --blue: #0072b2; --green: #009e73; --vermilion: #d55e00; --purple: #b5679a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6eaee; --muted: #97a1ac; --line: #2c343d;
  --orange: #f0b429; --blue: #4aa8e0; --green: #2cc295; --vermilion: #f58442; --purple: #d391bd; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 64rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.05rem; }
p.when { margin: .2rem 0 1.2rem; color: var(--muted); }
dl { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1px; margin: 0; background: var(--line); border: 1px solid var(--line);
  border-radius: 8px; overflow: hidden; }
dl div { padding: .6rem .9rem; background: var(--paper); }
dl div:only-child { grid-column: 1 / -1; }
dt { font-size: .8rem; color: var(--muted); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.picture { margin: 1.5rem 0 0; overflow-x: auto; }
.picture svg { display: block; width: 100%; min-width: 42rem; height: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-size: .8rem; font-weight: 500; color: var(--muted); }
td { overflow-wrap: anywhere; }
td.time, td.kind { white-space: nowrap; color: var(--muted); font-variant-numeric: tabular-nums; }
td.kind { overflow-wrap: normal; }
.nothing { color: var(--muted); }
@media (max-width: 48rem) { dl { grid-template-columns: 1fr; } dl div { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; }
  dt { white-space: nowrap; } dd { text-align: right; } }
@media (max-width: 36rem) { table, tbody, tr, td { display: block; } thead { display: none; } tr { padding: .45rem 0; border-bottom: 1px solid var(--line); }
  td { padding: 0; border: 0; } td.time, td.kind { display: inline; padding-right: .6rem; font-size: .8rem; } }
"""
