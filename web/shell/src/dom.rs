//! Views as data: every part of the page is a [`View`], and there is one function that draws it.
//!
//! A component is a function that returns a [`View`] or an [`El`], written like Leptos' builder
//! syntax: `div().class("card").child(title)`. Attributes, styles and children may be closures;
//! such a part is drawn again when a signal that the closure read has changed. Drawing again
//! patches: an element stays where the new view has one with the same tag in the same place, so
//! that the focus stays and transitions run.
//!
//! Leptos' `view!` does the same with a type for every combination of element, attribute and child,
//! which took more than half of the page (docs/log.md). [`View`] is a view of Leptos ([`Render`]),
//! so Leptos mounts it and its owners and effects run it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::{
    LocalStorage, Mountable, Owner, Render, RenderEffect, SetValue, StoredValue, document, untrack,
};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, Event, HtmlElement, KeyboardEvent, MouseEvent, Node, PointerEvent, Text};

const SVG: &str = "http://www.w3.org/2000/svg";

/// A part of the page, as data.
pub enum View {
    /// A text.
    Text(Cow<'static, str>),
    /// An element.
    Element(El),
    /// Views one after the other; none for nothing.
    Many(Vec<View>),
    /// A view that is computed from signals.
    Live(Box<dyn Fn() -> View>),
    /// Elements with keys, computed from signals; one with a known key stays as it is and moves.
    Keyed(Box<dyn Fn() -> Vec<Keyed>>),
}

/// An element of [`View::Keyed`]: its key, and the function that makes it if the key is new.
pub type Keyed = (String, Box<dyn FnOnce() -> El>);

/// A handle of an element that was drawn.
pub type NodeRef = StoredValue<Option<Element>, LocalStorage>;

/// The value of an attribute, a class, a style or a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is none, or it is off.
    Off,
    /// It is on, without a text.
    On,
    /// The text.
    Text(Cow<'static, str>),
}

/// What an entry of an element sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An attribute.
    Attribute,
    /// A class, on or off.
    Class,
    /// A property of the style.
    Style,
    /// A property of the object.
    Property,
}

enum Setting {
    Fixed(Value),
    Live(Box<dyn Fn() -> Value>),
}

type Handler = Rc<dyn Fn(Event)>;

/// An element, as data.
pub struct El(Box<Content>);

struct Content {
    tag: &'static str,
    is_svg: bool,
    settings: Vec<(Kind, &'static str, Setting)>,
    handlers: Vec<(&'static str, Handler)>,
    node: Option<NodeRef>,
    children: Vec<View>,
}

// Every element of the page calls these functions several times: their code must not be copied
// into all of those places.
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
    fn set(mut self, kind: Kind, name: &'static str, setting: Setting) -> Self {
        self.0.settings.push((kind, name, setting));
        self
    }

    #[inline(never)]
    fn set_text(self, kind: Kind, name: &'static str, text: &'static str) -> Self {
        self.set(kind, name, Setting::Fixed(Value::Text(Cow::Borrowed(text))))
    }

    #[inline(never)]
    fn set_live(self, kind: Kind, name: &'static str, compute: Box<dyn Fn() -> Value>) -> Self {
        self.set(kind, name, Setting::Live(compute))
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

    #[inline(never)]
    fn push_text(self, text: &'static str) -> Self {
        self.push(View::Text(Cow::Borrowed(text)))
    }

    #[inline(never)]
    fn push_element(self, child: Self) -> Self {
        self.push(View::Element(child))
    }

    #[inline(never)]
    fn push_live(self, compute: Box<dyn Fn() -> View>) -> Self {
        self.push(View::Live(compute))
    }

    /// Sets an attribute; `false` and `None` leave it out.
    #[must_use]
    pub fn attr(self, name: &'static str, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Attribute, name)
    }

    /// Sets the attribute `class`.
    #[must_use]
    pub fn class(self, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Attribute, "class")
    }

    /// Sets the attribute `id`.
    #[must_use]
    pub fn id(self, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Attribute, "id")
    }

    /// Sets the accessible name.
    #[must_use]
    pub fn label(self, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Attribute, "aria-label")
    }

    /// Hides the element, or not.
    #[must_use]
    pub fn hidden(self, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Attribute, "hidden")
    }

    /// Adds a class while `value` is on. The element must not set its whole `class` by a closure.
    #[must_use]
    pub fn toggle(self, class: &'static str, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Class, class)
    }

    /// Sets a property of the style.
    #[must_use]
    pub fn style(self, name: &'static str, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Style, name)
    }

    /// Sets a property of the element, such as `checked`.
    #[must_use]
    pub fn prop(self, name: &'static str, value: impl IntoSetting) -> Self {
        value.set(self, Kind::Property, name)
    }

    /// Listens to an event.
    #[must_use]
    pub fn on(self, event: &'static str, handle: impl Fn(Event) + 'static) -> Self {
        self.listen(event, Rc::new(handle))
    }

    /// Listens to an event of the mouse, such as `click`.
    #[must_use]
    pub fn on_mouse(self, event: &'static str, handle: impl Fn(MouseEvent) + 'static) -> Self {
        self.on(event, move |event| handle(event.unchecked_into()))
    }

    /// Listens to an event of a pointer, such as `pointermove`.
    #[must_use]
    pub fn on_pointer(self, event: &'static str, handle: impl Fn(PointerEvent) + 'static) -> Self {
        self.on(event, move |event| handle(event.unchecked_into()))
    }

    /// Listens to a key that is pressed while the element has the focus.
    #[must_use]
    pub fn on_key(self, handle: impl Fn(KeyboardEvent) + 'static) -> Self {
        self.on("keydown", move |event| handle(event.unchecked_into()))
    }

    /// Calls `press` when the element is pressed.
    #[must_use]
    pub fn on_press(self, press: impl Fn() + 'static) -> Self {
        self.on("click", move |_| press())
    }

    /// Keeps the element in `node` once it is drawn.
    #[must_use]
    pub fn node(mut self, node: NodeRef) -> Self {
        self.0.node = Some(node);
        self
    }

    /// Adds a child.
    #[must_use]
    pub fn child(self, child: impl IntoView) -> Self {
        child.push_to(self)
    }
}

/// Defines a function for each tag.
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

/// Elements of HTML.
pub mod html {
    use super::El;

    tags! { false:
        a article b caption dd details dialog div dl dt h1 h2 h3 header i input kbd label li main nav
        ol option p pre section select small span summary table tbody td th thead tr ul
    }

    /// Returns a button that submits nothing.
    #[must_use]
    pub fn button() -> El {
        El::new("button", false).attr("type", "button")
    }
}

/// Elements of SVG.
pub mod svg {
    use super::El;

    tags! { true: circle g line path rect svg text }
}

/// What can be a child of an element.
pub trait IntoView: Sized {
    /// Returns the view.
    fn into_view(self) -> View;

    /// Adds the view to an element.
    fn push_to(self, element: El) -> El {
        element.push(self.into_view())
    }
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

    fn push_to(self, element: El) -> El {
        element.push_element(self)
    }
}

impl IntoView for &'static str {
    fn into_view(self) -> View {
        View::Text(Cow::Borrowed(self))
    }

    fn push_to(self, element: El) -> El {
        element.push_text(self)
    }
}

impl IntoView for String {
    fn into_view(self) -> View {
        View::Text(Cow::Owned(self))
    }
}

impl<V: IntoView> IntoView for Option<V> {
    fn into_view(self) -> View {
        self.map_or_else(|| View::Many(Vec::new()), IntoView::into_view)
    }
}

impl<V: IntoView> IntoView for Vec<V> {
    fn into_view(self) -> View {
        View::Many(self.into_iter().map(IntoView::into_view).collect())
    }
}

impl<V: IntoView, F: Fn() -> V + 'static> IntoView for F {
    fn into_view(self) -> View {
        View::Live(Box::new(move || self().into_view()))
    }

    fn push_to(self, element: El) -> El {
        element.push_live(Box::new(move || self().into_view()))
    }
}

/// Returns an element for each item that `items` gives, made by `draw` when the key is new. It has
/// to follow changes of an item by signals in the item.
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

/// What an attribute, a class, a style or a property can be set to.
pub trait IntoValue {
    /// Returns the value.
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
    /// Sets an entry of an element.
    fn set(self, element: El, kind: Kind, name: &'static str) -> El;
}

impl IntoSetting for &'static str {
    fn set(self, element: El, kind: Kind, name: &'static str) -> El {
        element.set_text(kind, name, self)
    }
}

/// Implements [`IntoSetting`] for types of values. One implementation for all of them would forbid
/// the one for closures.
macro_rules! fixed {
    ($($value:ty)*) => {
        $(
            impl IntoSetting for $value {
                fn set(self, element: El, kind: Kind, name: &'static str) -> El {
                    element.set(kind, name, Setting::Fixed(self.into_value()))
                }
            }
        )*
    };
}
fixed! { String bool Option<&'static str> Option<String> }

impl<V: IntoValue, F: Fn() -> V + 'static> IntoSetting for F {
    fn set(self, element: El, kind: Kind, name: &'static str) -> El {
        element.set_live(kind, name, Box::new(move || self().into_value()))
    }
}

/// A view that is drawn.
pub struct Drawn(Part);

enum Part {
    Text(Text, Cow<'static, str>),
    Element(Box<DrawnElement>),
    /// The text is empty and marks the end.
    Many(Vec<Part>, Text),
    Live {
        content: Rc<RefCell<Option<Part>>>,
        _effect: RenderEffect<()>,
    },
    Keyed {
        list: Rc<RefCell<KeyedList>>,
        _effect: RenderEffect<()>,
    },
}

struct DrawnElement {
    tag: &'static str,
    node: Element,
    settings: Vec<(Kind, &'static str, DrawnSetting)>,
    handlers: Vec<(&'static str, Rc<RefCell<Handler>>)>,
    children: Vec<Part>,
}

enum DrawnSetting {
    Fixed(Value),
    Live { _effect: RenderEffect<()> },
}

struct KeyedList {
    elements: Vec<(String, DrawnElement, Owner)>,
    /// An empty text at the end.
    end: Text,
}

impl Render for View {
    type State = Drawn;

    fn build(self) -> Drawn {
        Drawn(draw(self))
    }

    fn rebuild(self, state: &mut Drawn) {
        patch(&mut state.0, self);
    }
}

impl Mountable for Drawn {
    fn unmount(&mut self) {
        remove(&self.0);
    }

    fn mount(&mut self, parent: &Element, marker: Option<&Node>) {
        insert(&self.0, parent, marker);
    }

    fn insert_before_this(&self, child: &mut dyn Mountable) -> bool {
        let first = first_node(&self.0);
        let parent = first.parent_element();
        parent.is_some_and(|parent| child.try_mount(&parent, Some(&first)))
    }

    fn elements(&self) -> Vec<Element> {
        match &self.0 {
            Part::Element(element) => vec![element.node.clone()],
            _ => Vec::new(),
        }
    }
}

/// Runs `run` now, and again after every change of a signal that it read, until it is dropped.
fn follow(mut run: Box<dyn FnMut()>) -> RenderEffect<()> {
    RenderEffect::new(move |_| run())
}

fn draw(view: View) -> Part {
    match view {
        View::Text(text) => Part::Text(document().create_text_node(&text), text),
        View::Element(element) => Part::Element(Box::new(draw_element(element))),
        View::Many(views) => {
            let parts = views.into_iter().map(draw).collect();
            Part::Many(parts, document().create_text_node(""))
        }
        View::Live(compute) => draw_live(compute, Rc::new(RefCell::new(None))),
        View::Keyed(compute) => draw_keyed(compute),
    }
}

/// Draws a computed view; `content` is what an earlier one has drawn in its place.
fn draw_live(compute: Box<dyn Fn() -> View>, content: Rc<RefCell<Option<Part>>>) -> Part {
    let inner = Rc::clone(&content);
    let effect = follow(Box::new(move || {
        let view = compute();
        let mut content = inner.borrow_mut();
        match &mut *content {
            Some(part) => patch(part, view),
            None => *content = Some(draw(view)),
        }
    }));
    Part::Live {
        content,
        _effect: effect,
    }
}

fn draw_keyed(compute: Box<dyn Fn() -> Vec<Keyed>>) -> Part {
    let list = Rc::new(RefCell::new(KeyedList {
        elements: Vec::new(),
        end: document().create_text_node(""),
    }));
    let inner = Rc::clone(&list);
    // Elements outlive the run of the effect that draws them.
    let owner = Owner::current().unwrap_or_default();
    let effect = follow(Box::new(move || {
        patch_keyed(&mut inner.borrow_mut(), compute(), &owner);
    }));
    Part::Keyed {
        list,
        _effect: effect,
    }
}

fn draw_element(El(element): El) -> DrawnElement {
    let document = document();
    let node = if element.is_svg {
        document.create_element_ns(Some(SVG), element.tag)
    } else {
        document.create_element(element.tag)
    };
    // Fails for invalid tags only, and all tags stand in this file.
    let node = node.unwrap_or_else(|error| wasm_bindgen::throw_val(error));
    let settings = element.settings.into_iter();
    let settings = settings
        .map(|(kind, name, setting)| (kind, name, draw_setting(&node, kind, name, setting)))
        .collect();
    let handlers = element.handlers.into_iter();
    let handlers = handlers
        .map(|(event, handler)| (event, listen(&node, event, handler)))
        .collect();
    let children: Vec<Part> = element.children.into_iter().map(draw).collect();
    for child in &children {
        insert(child, &node, None);
    }
    if let Some(handle) = element.node {
        handle.set_value(Some(node.clone()));
    }
    DrawnElement {
        tag: element.tag,
        node,
        settings,
        handlers,
        children,
    }
}

fn draw_setting(node: &Element, kind: Kind, name: &'static str, setting: Setting) -> DrawnSetting {
    match setting {
        Setting::Fixed(value) => {
            if value != Value::Off {
                set(node, kind, name, &value);
            }
            DrawnSetting::Fixed(value)
        }
        Setting::Live(compute) => {
            let node = node.clone();
            let mut last = None;
            let effect = follow(Box::new(move || {
                let value = compute();
                // A visitor may have changed a property since.
                if last.as_ref() != Some(&value) || kind == Kind::Property {
                    set(&node, kind, name, &value);
                    last = Some(value);
                }
            }));
            DrawnSetting::Live { _effect: effect }
        }
    }
}

fn set(node: &Element, kind: Kind, name: &str, value: &Value) {
    // Browsers refuse invalid names only, and all names stand in this program.
    match kind {
        Kind::Attribute => {
            let _ = match value {
                Value::Off => node.remove_attribute(name),
                Value::On => node.set_attribute(name, ""),
                Value::Text(text) => node.set_attribute(name, text),
            };
        }
        Kind::Class => {
            let _ = node
                .class_list()
                .toggle_with_force(name, *value != Value::Off);
        }
        Kind::Style => {
            let style = node.unchecked_ref::<HtmlElement>().style();
            let _ = match value {
                Value::Off | Value::On => style.remove_property(name).map(|_| ()),
                Value::Text(text) => style.set_property(name, text),
            };
        }
        Kind::Property => {
            let value = match value {
                Value::Off => JsValue::FALSE,
                Value::On => JsValue::TRUE,
                Value::Text(text) => JsValue::from_str(text),
            };
            let _ = js_sys::Reflect::set(node, &JsValue::from_str(name), &value);
        }
    }
}

/// Listens to an event; the handler in the returned cell may be replaced.
fn listen(node: &Element, event: &str, handler: Handler) -> Rc<RefCell<Handler>> {
    let cell = Rc::new(RefCell::new(handler));
    let inner = Rc::clone(&cell);
    let call = Closure::<dyn Fn(Event)>::new(move |event| {
        let handler = Rc::clone(&inner.borrow());
        handler(event);
    });
    // The browser frees it with the element.
    let call = call.into_js_value();
    let _ = node.add_event_listener_with_callback(event, call.unchecked_ref());
    cell
}

/// Makes what is drawn equal to `view`, in place as far as possible.
fn patch(part: &mut Part, view: View) {
    match (&mut *part, view) {
        (Part::Text(node, old), View::Text(text)) => {
            if *old != text {
                node.set_data(&text);
                *old = text;
            }
        }
        (Part::Element(old), View::Element(element)) if fits(old, &element) => {
            patch_element(old, element);
        }
        (Part::Many(parts, end), View::Many(views)) => {
            for part in parts.drain(views.len().min(parts.len())..) {
                remove(&part);
            }
            let mut views = views.into_iter();
            for (part, view) in parts.iter_mut().zip(views.by_ref()) {
                patch(part, view);
            }
            let parent = end.parent_node();
            for view in views {
                let part = draw(view);
                if let Some(parent) = &parent {
                    insert(&part, parent, Some(end));
                }
                parts.push(part);
            }
        }
        (Part::Live { content, .. }, View::Live(compute)) => {
            let content = Rc::clone(content);
            *part = draw_live(compute, content);
        }
        (_, view) => {
            let new = draw(view);
            let first = first_node(part);
            if let Some(parent) = first.parent_node() {
                insert(&new, &parent, Some(&first));
            }
            remove(part);
            *part = new;
        }
    }
}

/// Returns `true` if an element can become another one: they differ in values and children only.
fn fits(old: &DrawnElement, El(new): &El) -> bool {
    let settings = old.settings.iter().map(|(kind, name, _)| (kind, name));
    let handlers = old.handlers.iter().map(|(event, _)| event);
    old.tag == new.tag
        && settings.eq(new.settings.iter().map(|(kind, name, _)| (kind, name)))
        && handlers.eq(new.handlers.iter().map(|(event, _)| event))
        && old.children.len() == new.children.len()
}

fn patch_element(old: &mut DrawnElement, El(new): El) {
    let node = old.node.clone();
    for ((kind, name, old), (_, _, new)) in old.settings.iter_mut().zip(new.settings) {
        match (&mut *old, new) {
            (DrawnSetting::Fixed(old), Setting::Fixed(value)) => {
                if *old != value || *kind == Kind::Property {
                    set(&node, *kind, name, &value);
                    *old = value;
                }
            }
            (_, new) => *old = draw_setting(&node, *kind, name, new),
        }
    }
    for ((_, old), (_, new)) in old.handlers.iter().zip(new.handlers) {
        *old.borrow_mut() = new;
    }
    for (old, new) in old.children.iter_mut().zip(new.children) {
        patch(old, new);
    }
    if let Some(handle) = new.node {
        handle.set_value(Some(node));
    }
}

fn patch_keyed(list: &mut KeyedList, new: Vec<Keyed>, owner: &Owner) {
    let mut old: Vec<_> = list.elements.drain(..).map(Some).collect();
    for (key, make) in new {
        let place = |slot: &&mut Option<_>| {
            let slot: &Option<(String, DrawnElement, Owner)> = slot;
            slot.as_ref().is_some_and(|(known, ..)| *known == key)
        };
        let known = old.iter_mut().find(place).and_then(Option::take);
        list.elements.push(known.unwrap_or_else(|| {
            let owner = owner.with(Owner::new);
            let element = owner.with(|| untrack(|| draw_element(make())));
            (key, element, owner)
        }));
    }
    for (_, element, owner) in old.into_iter().flatten() {
        element.node.remove();
        owner.cleanup();
    }
    let Some(parent) = list.end.parent_node() else {
        return;
    };
    let mut next: Node = list.end.clone().into();
    for (_, element, _) in list.elements.iter().rev() {
        // One that is in place is not moved: it would lose the focus.
        if element.node.next_sibling().as_ref() != Some(&next) {
            let _ = parent.insert_before(&element.node, Some(&next));
        }
        next = element.node.clone().into();
    }
}

fn insert(part: &Part, parent: &Node, before: Option<&Node>) {
    for_each_node(part, &mut |node| {
        let _ = parent.insert_before(node, before);
    });
}

fn remove(part: &Part) {
    for_each_node(part, &mut |node| {
        if let Some(parent) = node.parent_node() {
            let _ = parent.remove_child(node);
        }
    });
}

/// Returns the first node of a part; every part has one.
fn first_node(part: &Part) -> Node {
    let mut first = None;
    for_each_node(part, &mut |node| {
        first.get_or_insert_with(|| node.clone());
    });
    first.unwrap_or_else(|| document().create_text_node("").into())
}

/// Calls `with` for the nodes of a part, without those inside of other nodes.
fn for_each_node(part: &Part, with: &mut dyn FnMut(&Node)) {
    match part {
        Part::Text(node, _) => with(node),
        Part::Element(element) => with(&element.node),
        Part::Many(parts, end) => {
            for part in parts {
                for_each_node(part, with);
            }
            with(end);
        }
        Part::Live { content, .. } => {
            if let Some(part) = &*content.borrow() {
                for_each_node(part, with);
            }
        }
        Part::Keyed { list, .. } => {
            let list = list.borrow();
            for (_, element, _) in &list.elements {
                with(&element.node);
            }
            with(&list.end);
        }
    }
}
