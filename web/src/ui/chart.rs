//! A chart over all actions; also the scrubber.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

use super::{Scene, Stage};

/// The chart with this number. Pointing and dragging on it moves the cursor.
#[component]
pub fn Chart<W: Stage>(scene: Scene<W>, number: usize) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    let width = measured_width(node);
    let page = scene.page;
    let draw = move || scene.run.with(|run| W::chart(number, run, scene.truth()));
    let svg = Memo::new(move |_| draw().markup(width.get(), page.last()));
    let shape = W::CHARTS[number];
    let plane = move || shape.plane(width.get(), page.last());
    let seek = move |event: &leptos::ev::PointerEvent| {
        if let Some(node) = node.get_untracked() {
            let x = f64::from(event.client_x()) - node.get_bounding_client_rect().left();
            page.seek(untrack(plane).action_at(x));
        }
    };
    let (title, height) = (shape.title, shape.height);
    let label = move || {
        let values = scene.with_frame(|frame| W::spoken(number, frame));
        format!("{title}. At the cursor: {values}")
    };
    // Beside the drawing, so that moving it draws nothing anew.
    let place = Memo::new(move |_| {
        let x = plane().x(page.cursor());
        format!(
            "height:{}px;transform:translateX({:.1}px)",
            shape.foot,
            x - 1.0
        )
    });
    view! {
        <section class="card chart-card" aria-label=title>
            <div class="chart" node_ref=node
                on:pointerdown=move |event| seek(&event)
                on:pointermove=move |event| if event.buttons() & 1 == 1 { seek(&event) }>
                <svg role="img" aria-label=label viewBox=move || format!("0 0 {:.0} {height}", width.get())
                    width="100%" height=height inner_html=svg></svg>
                <svg class="cursor-place" aria-hidden="true" style=place>
                    <line class="cursor" x1="1" x2="1" y1="4" y2="100%"/>
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
