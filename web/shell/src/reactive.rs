//! Signals, memos and effects of Leptos whose code does not depend on the type of their value.
//!
//! Leptos compiles its reactive system anew for every type and every closure, which was a quarter
//! of the page. Here a value lies behind [`Any`], so that the program contains one signal, one memo
//! and one effect; the typed handles of this module cast at the edge.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude::{ArcRwSignal, Get, GetUntracked, RwSignal, Set, Update};

/// A value whose type only its handle knows.
type Erased = Arc<dyn Any + Send + Sync>;

/// Implements reading for a handle whose `inner` gives an [`Erased`] value.
macro_rules! readable {
    ($handle:ident, $content:expr) => {
        impl<T: Send + Sync + 'static> $handle<T> {
            /// Calls `read` with the value, and subscribes the caller to its changes.
            pub fn with<R>(&self, read: impl FnOnce(&T) -> R) -> R {
                read(cast(&$content(self.inner.get())))
            }

            /// Calls `read` with the value, without subscribing the caller.
            pub fn with_untracked<R>(&self, read: impl FnOnce(&T) -> R) -> R {
                read(cast(&$content(self.inner.get_untracked())))
            }

            /// Returns the value, and subscribes the caller to its changes.
            #[must_use]
            pub fn get(&self) -> T
            where
                T: Clone,
            {
                self.with(T::clone)
            }

            /// Returns the value without subscribing the caller.
            #[must_use]
            pub fn get_untracked(&self) -> T
            where
                T: Clone,
            {
                self.with_untracked(T::clone)
            }

            /// Subscribes the caller to changes of the value. It reads the value: a memo that nobody
            /// reads computes nothing, and so has nothing to follow.
            pub fn track(&self) {
                self.with(|_| ());
            }
        }

        impl<T> std::fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($handle))
            }
        }
    };
}

/// Implements writing for a handle.
macro_rules! writable {
    ($handle:ident) => {
        impl<T: Send + Sync + 'static> $handle<T> {
            /// Replaces the value and tells all subscribers.
            pub fn set(&self, value: T) {
                self.inner.set(Arc::new(value));
            }

            /// Changes the value in place and tells all subscribers.
            pub fn update(&self, change: impl FnOnce(&mut T))
            where
                T: Clone,
            {
                self.inner.update(|erased| {
                    let taken = std::mem::replace(erased, Arc::new(()));
                    if let Ok(mut value) = taken.downcast::<T>() {
                        change(Arc::make_mut(&mut value));
                        *erased = value;
                    }
                });
            }
        }
    };
}

/// A value that can be read and written. It lives as long as the owner it was created under.
pub struct Signal<T> {
    inner: RwSignal<Erased>,
    kind: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> Signal<T> {
    /// Creates a signal under the current owner.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            inner: RwSignal::new(Arc::new(value)),
            kind: PhantomData,
        }
    }
}

impl<T> Copy for Signal<T> {}
impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        *self
    }
}
readable!(Signal, std::convert::identity);
writable!(Signal);

impl<T: Default + Send + Sync + 'static> Default for Signal<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// A [`Signal`] that lives as long as its clones.
pub struct ArcSignal<T> {
    inner: ArcRwSignal<Erased>,
    kind: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> ArcSignal<T> {
    /// Creates a signal that is not tied to an owner.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            inner: ArcRwSignal::new(Arc::new(value)),
            kind: PhantomData,
        }
    }
}

impl<T> Clone for ArcSignal<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            kind: PhantomData,
        }
    }
}
readable!(ArcSignal, std::convert::identity);
writable!(ArcSignal);

/// The value of a memo, with the function that compares two such values.
#[derive(Clone)]
struct Compared {
    value: Erased,
    is_same: fn(&Erased, &Erased) -> bool,
}

impl PartialEq for Compared {
    fn eq(&self, other: &Self) -> bool {
        (self.is_same)(&self.value, &other.value)
    }
}

/// A value computed from signals, and computed again after one of them changed.
pub struct Memo<T> {
    inner: leptos::prelude::Memo<Compared>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Copy for Memo<T> {}
impl<T> Clone for Memo<T> {
    fn clone(&self) -> Self {
        *self
    }
}
readable!(Memo, |compared: Compared| compared.value);

type Compute = Box<dyn Fn(Option<&Compared>) -> Compared + Send + Sync>;

/// Creates a memo that notifies its subscribers when the value differs from the previous one.
pub fn memo<T>(compute: impl Fn() -> T + Send + Sync + 'static) -> Memo<T>
where
    T: PartialEq + Send + Sync + 'static,
{
    compared(compute, |a, b| cast::<T>(a) == cast::<T>(b))
}

/// Creates a memo that notifies its subscribers of every computed value, except of a repeated
/// `None`.
pub fn memo_notify_always<T>(
    compute: impl Fn() -> Option<T> + Send + Sync + 'static,
) -> Memo<Option<T>>
where
    T: Send + Sync + 'static,
{
    compared(compute, |a, b| {
        cast::<Option<T>>(a).is_none() && cast::<Option<T>>(b).is_none()
    })
}

fn compared<T: Send + Sync + 'static>(
    compute: impl Fn() -> T + Send + Sync + 'static,
    is_same: fn(&Erased, &Erased) -> bool,
) -> Memo<T> {
    let compute: Compute = Box::new(move |_| Compared {
        value: Arc::new(compute()),
        is_same,
    });
    Memo {
        inner: leptos::prelude::Memo::new(compute),
        kind: PhantomData,
    }
}

/// Creates an effect: `run` is called soon, and again after every change of a signal that it read.
pub fn effect(mut run: impl FnMut() + 'static) {
    let run: Box<dyn FnMut(Option<()>)> = Box::new(move |_| run());
    leptos::prelude::Effect::new(run);
}

/// Creates an effect that receives the value returned by its previous run; `None` in the first run.
pub fn effect_with_previous<T: 'static>(mut run: impl FnMut(Option<T>) -> T + 'static) {
    let mut before = None;
    effect(move || before = Some(run(before.take())));
}

/// Returns the value as the type that its handle names.
#[expect(clippy::panic, reason = "handles are made with a value of their type")]
fn cast<T: 'static>(erased: &Erased) -> &T {
    match erased.downcast_ref() {
        Some(value) => value,
        None => panic!("a signal holds a value of another type"),
    }
}
