//! Views as data: every part of the page is a [`View`], and one function draws it.
//!
//! A component is a function that returns a [`View`] or an [`El`], written like Leptos' builder
//! syntax: `div().class("card").child(title)`. Attributes, styles and children may be closures;
//! such a part is drawn again when a signal that the closure read has changed. Drawing again
//! patches: an element stays if the new view has one with the same tag in the same place, so that
//! it keeps the focus and its transitions run.
//!
//! Leptos' `view!` does the same with a type for every combination of element, attribute and child,
//! which took more than half of the page (docs/log.md). [`View`] implements
//! [`Render`](leptos::prelude::Render), so Leptos mounts it, and its owners and effects run it.

mod render;

use std::borrow::Cow;
use std::rc::Rc;

use leptos::prelude::{LocalStorage, StoredValue};
use wasm_bindgen::JsCast;
use web_sys::{DragEvent, Element, Event, KeyboardEvent, MouseEvent, PointerEvent};

/// A part of the page, as data.
pub enum View {
    /// A text node without markup.
    Text(Cow<'static, str>),
    /// An element with its attributes and children.
    Element(El),
    /// Views in sequence; empty for nothing.
    Fragment(Vec<View>),
    /// A view that is computed from signals.
    Dynamic(Box<dyn Fn() -> View>),
    /// Elements with keys, computed from signals; an element whose key persists is kept and moved.
    Keyed(Box<dyn Fn() -> Vec<Keyed>>),
}

/// An element of [`View::Keyed`]: its key, and the function that creates it if the key is new.
pub type Keyed = (String, Box<dyn FnOnce() -> El>);

/// A handle of a drawn element.
pub type NodeRef = StoredValue<Option<Element>, LocalStorage>;

/// Value of an attribute, a class, a style or a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Leaves the attribute out, or turns the entry off.
    Off,
    /// Sets the entry without a text.
    On,
    /// Sets the entry to this text.
    Text(Cow<'static, str>),
}

/// The kind of thing that a setting of an element changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// An attribute of the element.
    Attribute,
    /// A single class, on or off.
    Class,
    /// A property of the inline style.
    Style,
    /// A property of the DOM object.
    Property,
}

/// The value of an attribute, class, style or property: fixed or dynamic.
pub enum Setting {
    /// A value that stays.
    Fixed(Value),
    /// A value that is computed from signals.
    Dynamic(Box<dyn Fn() -> Value>),
}

type Handler = Rc<dyn Fn(Event)>;

/// An element, as data.
pub struct El(Box<Content>);

struct Content {
    tag: &'static str,
    is_svg: bool,
    settings: Vec<(SettingKind, &'static str, Setting)>,
    handlers: Vec<(&'static str, Handler)>,
    node: Option<NodeRef>,
    children: Vec<View>,
}

// Every element of the page calls these functions several times, so their code must not be inlined
// there.
impl El {
    #[inline(never)]
    fn new(tag: &'static str, is_svg: bool) -> Self {
        Self(Box::new(Content {
            tag,
            is_svg,
            settings: Vec::new(),
            handlers: Vec::new(),
            node: None,
            children: Vec::new(),
        }))
    }

    #[inline(never)]
    fn set(mut self, kind: SettingKind, name: &'static str, setting: Setting) -> Self {
        self.0.settings.push((kind, name, setting));
        self
    }

    #[inline(never)]
    fn listen(mut self, event: &'static str, handler: Handler) -> Self {
        self.0.handlers.push((event, handler));
        self
    }

    #[inline(never)]
    fn push(mut self, child: View) -> Self {
        self.0.children.push(child);
        self
    }

    /// Sets an attribute; `false` and `None` leave it out.
    #[must_use]
    pub fn attr(self, name: &'static str, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Attribute, name, value.into_setting())
    }

    /// Sets the attribute `class`.
    #[must_use]
    pub fn class(self, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Attribute, "class", value.into_setting())
    }

    /// Sets the attribute `id`.
    #[must_use]
    pub fn id(self, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Attribute, "id", value.into_setting())
    }

    /// Sets the accessible name, `aria-label`.
    #[must_use]
    pub fn label(self, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Attribute, "aria-label", value.into_setting())
    }

    /// Hides the element if `value` is on.
    #[must_use]
    pub fn hidden(self, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Attribute, "hidden", value.into_setting())
    }

    /// Adds a class while `value` is on. The element must not set its whole `class` by a closure.
    #[must_use]
    pub fn toggle_class(self, class: &'static str, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Class, class, value.into_setting())
    }

    /// Sets a property of the inline style.
    #[must_use]
    pub fn style(self, name: &'static str, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Style, name, value.into_setting())
    }

    /// Sets a property of the DOM object, such as `checked`.
    #[must_use]
    pub fn prop(self, name: &'static str, value: impl IntoSetting) -> Self {
        self.set(SettingKind::Property, name, value.into_setting())
    }

    /// Adds a listener for an event.
    #[must_use]
    pub fn on(self, event: &'static str, handle: impl Fn(Event) + 'static) -> Self {
        self.listen(event, Rc::new(handle))
    }

    /// Adds a listener for a mouse event, such as `click`.
    #[must_use]
    pub fn on_mouse(self, event: &'static str, handle: impl Fn(MouseEvent) + 'static) -> Self {
        self.on(event, move |event| handle(event.unchecked_into()))
    }

    /// Adds a listener for a pointer event, such as `pointermove`.
    #[must_use]
    pub fn on_pointer(self, event: &'static str, handle: impl Fn(PointerEvent) + 'static) -> Self {
        self.on(event, move |event| handle(event.unchecked_into()))
    }

    /// Adds a listener for an event of dragging, such as `dragstart`.
    #[must_use]
    pub fn on_drag(self, event: &'static str, handle: impl Fn(DragEvent) + 'static) -> Self {
        self.on(event, move |event| handle(event.unchecked_into()))
    }

    /// Adds a listener for keys that are pressed while the element has the focus.
    #[must_use]
    pub fn on_key(self, handle: impl Fn(KeyboardEvent) + 'static) -> Self {
        self.on("keydown", move |event| handle(event.unchecked_into()))
    }

    /// Calls `press` when the element is clicked or activated by the keyboard.
    #[must_use]
    pub fn on_press(self, press: impl Fn() + 'static) -> Self {
        self.on("click", move |_| press())
    }

    /// Stores the element in `node` once it is drawn.
    #[must_use]
    pub fn node(mut self, node: NodeRef) -> Self {
        self.0.node = Some(node);
        self
    }

    /// Adds a child after the existing ones.
    #[must_use]
    pub fn child(self, child: impl IntoView) -> Self {
        self.push(child.into_view())
    }
}

/// Defines a constructor function for each tag.
macro_rules! tags {
    ($is_svg:literal: $($name:ident)*) => {
        $(
            #[doc = concat!("Returns an element `", stringify!($name), "`.")]
            #[must_use]
            pub fn $name() -> El {
                El::new(stringify!($name), $is_svg)
            }
        )*
    };
}

/// Constructor functions for HTML elements.
pub mod html {
    use super::El;

    tags! { false:
        a article b caption dd details dialog div dl dt fieldset h1 h2 h3 header i input kbd label li main nav
        ol optgroup option p pre section select small span summary table tbody td th thead tr ul
    }

    /// Returns a button that does not submit a form.
    #[must_use]
    pub fn button() -> El {
        El::new("button", false).attr("type", "button")
    }
}

/// Constructor functions for SVG elements.
pub mod svg {
    use super::El;

    tags! { true: circle g line path rect svg text }
}

/// A type that can be a child of an element.
pub trait IntoView {
    /// Converts the value into a view.
    fn into_view(self) -> View;
}

impl IntoView for View {
    fn into_view(self) -> View {
        self
    }
}

impl IntoView for El {
    fn into_view(self) -> View {
        View::Element(self)
    }
}

impl IntoView for &'static str {
    fn into_view(self) -> View {
        View::Text(Cow::Borrowed(self))
    }
}

impl IntoView for String {
    fn into_view(self) -> View {
        View::Text(Cow::Owned(self))
    }
}

impl<V: IntoView> IntoView for Option<V> {
    fn into_view(self) -> View {
        self.map_or_else(|| View::Fragment(Vec::new()), IntoView::into_view)
    }
}

impl<V: IntoView> IntoView for Vec<V> {
    fn into_view(self) -> View {
        View::Fragment(self.into_iter().map(IntoView::into_view).collect())
    }
}

impl<V: IntoView, F: Fn() -> V + 'static> IntoView for F {
    fn into_view(self) -> View {
        View::Dynamic(Box::new(move || self().into_view()))
    }
}

/// Returns an element for each of `items`. `draw` creates it when its key is new; later changes of
/// an item reach the element only through signals in the item.
pub fn each<T: 'static>(
    items: impl Fn() -> Vec<T> + 'static,
    key: fn(&T) -> String,
    draw: impl Fn(T) -> El + 'static,
) -> View {
    let draw = Rc::new(draw);
    View::Keyed(Box::new(move || {
        let keyed = |item: T| -> Keyed {
            let draw = Rc::clone(&draw);
            (key(&item), Box::new(move || draw(item)))
        };
        items().into_iter().map(keyed).collect()
    }))
}

/// A type that an attribute, a class, a style or a property can be set to.
pub trait IntoValue {
    /// Converts the value to its uniform type.
    fn into_value(self) -> Value;
}

impl IntoValue for &'static str {
    fn into_value(self) -> Value {
        Value::Text(Cow::Borrowed(self))
    }
}

impl IntoValue for String {
    fn into_value(self) -> Value {
        Value::Text(Cow::Owned(self))
    }
}

impl IntoValue for bool {
    fn into_value(self) -> Value {
        if self { Value::On } else { Value::Off }
    }
}

impl<V: IntoValue> IntoValue for Option<V> {
    fn into_value(self) -> Value {
        self.map_or(Value::Off, IntoValue::into_value)
    }
}

/// A value, or a closure that computes one from signals.
pub trait IntoSetting {
    /// Converts the value or closure to its uniform type.
    fn into_setting(self) -> Setting;
}

/// Implements [`IntoSetting`] for types of values. One implementation for all of them would forbid
/// the one for closures.
macro_rules! fixed {
    ($($value:ty)*) => {
        $(
            impl IntoSetting for $value {
                fn into_setting(self) -> Setting {
                    Setting::Fixed(self.into_value())
                }
            }
        )*
    };
}
fixed! { &'static str String bool Option<&'static str> Option<String> }

impl<V: IntoValue, F: Fn() -> V + 'static> IntoSetting for F {
    fn into_setting(self) -> Setting {
        Setting::Dynamic(Box::new(move || self().into_value()))
    }
}
