//! Memos and effects whose code does not depend on the type of their closure. Leptos compiles its
//! own functions anew for every closure, which would make the page a third larger.

use leptos::prelude::*;

type Compute<T> = Box<dyn Fn(Option<&T>) -> T + Send + Sync>;
type Run<T> = Box<dyn FnMut(Option<T>) -> T>;

/// Creates a memo.
pub fn memo<T: PartialEq + Send + Sync + 'static>(
    compute: impl Fn(Option<&T>) -> T + Send + Sync + 'static,
) -> Memo<T> {
    let compute: Compute<T> = Box::new(compute);
    Memo::new(compute)
}

/// Creates an effect.
pub fn effect<T: 'static>(run: impl FnMut(Option<T>) -> T + 'static) {
    let run: Run<T> = Box::new(run);
    Effect::new(run);
}
