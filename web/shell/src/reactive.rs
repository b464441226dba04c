//! Memos and effects whose code does not depend on the type of their closure. Leptos compiles its
//! own functions anew for every closure, which would make the page a third larger.

use leptos::prelude::*;

/// Creates a memo.
pub fn memo<T: PartialEq + Send + Sync + 'static>(
    compute: impl Fn(Option<&T>) -> T + Send + Sync + 'static,
) -> Memo<T> {
    let compute: Box<dyn Fn(Option<&T>) -> T + Send + Sync> = Box::new(compute);
    Memo::new(move |before| compute(before))
}

/// Creates an effect.
pub fn effect<T: 'static>(run: impl FnMut(Option<T>) -> T + 'static) {
    let mut run: Box<dyn FnMut(Option<T>) -> T> = Box::new(run);
    Effect::new(move |before| run(before));
}
