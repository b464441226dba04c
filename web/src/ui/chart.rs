//! Trust over time, with the reward and the stakes of each action below; also the scrubber.

use leptos::html;
use leptos::prelude::*;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::Slot;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

use super::scene::Scene;
use crate::play::{Frame2d, Frames, mark, polyline, tick_positions};

const HEIGHT: f64 = 292.0;
const REWARDS: (f64, f64) = (206.0, 240.0);
const STAKES: (f64, f64) = (252.0, 272.0);

/// The plane of the trust lines for a chart of this width.
fn plane(width: f64, actions: usize) -> Frame2d {
    Frame2d {
        left: 34.0,
        right: (width - 30.0).max(60.0),
        top: 12.0,
        bottom: 186.0,
        actions: actions.max(1),
    }
}

/// The chart. Pointing and dragging on it moves the cursor.
#[component]
pub fn Chart(scene: Scene) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    let width = measured_width(node);
    let actions = move || scene.page.last();
    let seek = move |event: &leptos::ev::PointerEvent| {
        if let Some(node) = node.get_untracked() {
            let x = f64::from(event.client_x()) - node.get_bounding_client_rect().left();
            scene
                .page
                .seek(plane(width.get_untracked(), actions()).action_at(x));
        }
    };
    let view_box = move || format!("0 0 {:.0} {HEIGHT}", width.get());
    let label = move || {
        scene.with_frame(|frame| {
            let trust = frame.episode.observation().ledger.trust();
            let list: Vec<String> = Slot::ALL
                .iter()
                .zip(trust)
                .map(|(s, t)| format!("{s} {t:.2}"))
                .collect();
            format!("Trust over time. At the cursor: {}", list.join(", "))
        })
    };
    view! {
        <section class="card chart-card" aria-label="Trust over time">
            <div class="chart" node_ref=node
                on:pointerdown=move |event| seek(&event)
                on:pointermove=move |event| if event.buttons() & 1 == 1 { seek(&event) }>
                <svg role="img" aria-label=label viewBox=view_box width="100%" height=HEIGHT>
                    {move || axes(&plane(width.get(), actions()))}
                    {move || scene.run.with(|run| rewards(run, &plane(width.get(), actions()), scene.truth()))}
                    {move || scene.run.with(|run| lines(run, &plane(width.get(), actions())))}
                    {move || cursor(&plane(width.get(), actions()), scene.page.cursor())}
                </svg>
            </div>
        </section>
    }
}

/// The width of an element in pixels, kept up to date.
pub(super) fn measured_width(node: NodeRef<html::Div>) -> RwSignal<f64> {
    let width = RwSignal::new(640.0);
    let observer = StoredValue::new_local(None::<(web_sys::ResizeObserver, Closure<dyn FnMut()>)>);
    Effect::new(move |_| {
        let Some(node) = node.get() else { return };
        let measure = {
            let node = node.clone();
            move || width.set(f64::from(node.client_width()).max(160.0))
        };
        measure();
        let on_resize = Closure::<dyn FnMut()>::new(measure);
        if let Ok(observed) = web_sys::ResizeObserver::new(on_resize.as_ref().unchecked_ref()) {
            observed.observe(&node);
            observer.set_value(Some((observed, on_resize)));
        }
    });
    on_cleanup(move || {
        observer.update_value(|observer| {
            if let Some((observed, _)) = observer.take() {
                observed.disconnect();
            }
        });
    });
    width
}

fn axes(plane: &Frame2d) -> impl IntoView + use<> {
    let (left, right) = (plane.left, plane.right);
    let grid = [0.0, 0.25, 0.5, 0.75, 1.0].map(|value| {
        let y = plane.y(value);
        view! {
            <line class="grid" x1=left x2=right y1=y y2=y/>
            <text class="axis" x=left - 6.0 y=y + 4.0 text-anchor="end">{format!("{value:.2}")}</text>
        }
    });
    let ticks = tick_positions(plane).into_iter().map(|action| {
        let x = plane.x(action);
        view! { <text class="axis" x=x y=HEIGHT - 4.0 text-anchor="middle">{action}</text> }
    });
    view! {
        {grid.collect_view()}
        <text class="axis band" x=left y=REWARDS.0 - 6.0>"reward"</text>
        <text class="axis band" x=left y=STAKES.0 - 2.0>"stakes"</text>
        {ticks.collect_view()}
    }
}

/// One bar per action for its reward and its stakes, with the sign of how it turned out.
fn rewards(run: &Frames, plane: &Frame2d, truth: bool) -> impl IntoView + use<> {
    let bars = run.frames.iter().enumerate().skip(1).filter_map(|(index, frame)| {
        let step = frame.step?;
        let (from, to) = (plane.x(index - 1), plane.x(index));
        let (x, width) = (from + 1.0, (to - from - 2.0).max(1.0));
        let reward = (REWARDS.1 - REWARDS.0) * step.grades.reward;
        let stakes = (STAKES.1 - STAKES.0) * step.stakes;
        let mark = mark(&step, truth);
        let class = format!("reward {}", mark.class());
        let high = if step.stakes >= HIGH_STAKES { "stake high" } else { "stake" };
        let title = format!("Action {index}: {} — {}, reward {:.4}, stakes {:.2}", step.action, mark.word(), step.grades.reward, step.stakes);
        let sign = (mark.notable() || frame.missed).then(|| {
            let text = if frame.missed { "?" } else { mark.sign() };
            view! { <text class=format!("sign {}", mark.class()) x=(from + to) / 2.0 y=REWARDS.1 - 3.0 text-anchor="middle">{text}</text> }
        });
        Some(view! {
            <g><title>{title}</title>
                <rect class=class x=x width=width y=REWARDS.1 - reward height=reward/>
                <rect class=high x=x width=width y=STAKES.1 - stakes height=stakes/>
                {sign}
            </g>
        })
    });
    bars.collect_view()
}

/// One line per slot, named at its end.
fn lines(run: &Frames, plane: &Frame2d) -> impl IntoView + use<> {
    let last = run.frames.len() - 1;
    let ends = spread(
        Slot::ALL.map(|slot| plane.y(run.frames[last].episode.observation().ledger[slot].trust())),
    );
    let line = |slot: Slot| {
        let trust = |frame: &crate::play::Frame| frame.episode.observation().ledger[slot].trust();
        let points = polyline(plane, run.frames.iter().map(trust));
        let class = format!("line s{}", slot.index());
        let (x, y) = (plane.x(last) + 5.0, ends[slot.index()] + 4.0);
        view! {
            <polyline class=class points=points/>
            <text class=format!("name s{}", slot.index()) x=x y=y>{slot.name()}</text>
        }
    };
    Slot::ALL.map(line).collect_view()
}

/// Moves labels apart that would cover each other.
fn spread(ys: [f64; 5]) -> [f64; 5] {
    const GAP: f64 = 12.0;
    let mut order = [0, 1, 2, 3, 4];
    order.sort_by(|a: &usize, b: &usize| ys[*a].total_cmp(&ys[*b]));
    let mut out = ys;
    for pair in 1..order.len() {
        let (above, below) = (order[pair - 1], order[pair]);
        out[below] = out[below].max(out[above] + GAP);
    }
    // Pushed out of the plot: pull the whole tail back up.
    let bottom = 190.0;
    for pair in (0..order.len()).rev() {
        let limit = bottom - GAP * (order.len() - 1 - pair) as f64;
        out[order[pair]] = out[order[pair]].min(limit);
    }
    out
}

fn cursor(plane: &Frame2d, action: usize) -> impl IntoView + use<> {
    let x = plane.x(action);
    view! { <line class="cursor" x1=x x2=x y1=4.0 y2=STAKES.1/> }
}
