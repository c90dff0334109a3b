// What a finished run came to: its summary as a card.
import { $, duration, element, number } from "./page.js";

const points = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(1)}`;

export function showSummary(summary) {
  $("result-card").hidden = !summary;
  if (!summary) return;
  const cost = summary.costs ?? {}, sum = (name) => Object.values(cost).reduce((total, each) => total + (each[name] ?? 0), 0);
  const undecided = (summary.undecided_before ?? 0) + (summary.undecided_after ?? 0);
  const tiles = [
    [`${number(summary.solved_before)}/${number(summary.test_total)}`, "solved before learning"],
    [`${number(summary.solved_after)}/${number(summary.test_total)}`, "solved after learning", "good"],
    [points(summary.difference), `points; 95 % interval ${points(summary.ci_low)} to ${points(summary.ci_high)}`],
    [duration(summary.wall_s), `in all, ${duration(summary.learning_s)} of it learning`],
    [number(summary.train_steps), `training steps${summary.kind === "control" ? ", supervised (control)" : ""}`],
    [number(summary.attempts), "attempts"],
    [number(sum("expansions")), "expansions"],
    [number(sum("tactics_tried")), "tactics tried"],
    [number(summary.recorded_proofs), "proofs verified"],
  ];
  $("result").replaceChildren(...tiles.map(([value, label, className]) => {
    const tile = element("div", `counter ${className ?? ""}`);
    tile.append(element("b", "", value), element("span", "", label));
    return tile;
  }));
  $("result-how").textContent = `${number(summary.compared)} statements compared, ${number(summary.simulations)} simulations each, `
    + `${undecided ? `${undecided} left undecided, ` : ""}seed ${summary.seed}, Lean ${summary.lean_version}`;
}
