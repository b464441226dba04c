//! Draws a [`View`] into the document, and patches what is drawn when the view changes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::{Mountable, Owner, Render, RenderEffect, SetValue, document, untrack};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, Event, HtmlElement, Node, Text};

use super::{El, Handler, Keyed, Setting, SettingKind, Value, View};

/// The namespace of SVG elements.
const SVG: &str = "http://www.w3.org/2000/svg";

/// A view that is drawn in the document.
pub struct Drawn(Part);

enum Part {
    Text(Text, Cow<'static, str>),
    Element(Box<DrawnElement>),
    /// Parts in sequence; the empty text node marks the end.
    Fragment(Vec<Part>, Text),
    Dynamic {
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
    settings: Vec<(SettingKind, &'static str, DrawnSetting)>,
    handlers: Vec<(&'static str, Rc<RefCell<Handler>>)>,
    children: Vec<Part>,
}

enum DrawnSetting {
    Fixed(Value),
    Dynamic { _effect: RenderEffect<()> },
}

struct KeyedList {
    elements: Vec<(String, DrawnElement, Owner)>,
    /// Empty text node that marks the end.
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
        remove(&mut self.0);
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

/// Calls `run` now, and again after every change of a signal that it read, until the effect is
/// dropped.
fn follow(mut run: Box<dyn FnMut()>) -> RenderEffect<()> {
    RenderEffect::new(move |_| run())
}

fn draw(view: View) -> Part {
    match view {
        View::Text(text) => Part::Text(document().create_text_node(&text), text),
        View::Element(element) => Part::Element(Box::new(draw_element(element))),
        View::Fragment(views) => {
            let parts = views.into_iter().map(draw).collect();
            Part::Fragment(parts, document().create_text_node(""))
        }
        View::Dynamic(compute) => draw_dynamic(compute, Rc::new(RefCell::new(None))),
        View::Keyed(compute) => draw_keyed(compute),
    }
}

/// Draws a computed view; `content` is what an earlier view has drawn in its place.
fn draw_dynamic(compute: Box<dyn Fn() -> View>, content: Rc<RefCell<Option<Part>>>) -> Part {
    let inner = Rc::clone(&content);
    let effect = follow(Box::new(move || {
        let view = compute();
        let mut content = inner.borrow_mut();
        match &mut *content {
            Some(part) => patch(part, view),
            None => *content = Some(draw(view)),
        }
    }));
    Part::Dynamic {
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
    // Elements outlive the run of the effect that creates them.
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
    // Fails only for invalid tags, and all tags are listed in `dom::html` and `dom::svg`.
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

fn draw_setting(
    node: &Element,
    kind: SettingKind,
    name: &'static str,
    setting: Setting,
) -> DrawnSetting {
    match setting {
        Setting::Fixed(value) => {
            if value != Value::Off {
                set(node, kind, name, &value);
            }
            DrawnSetting::Fixed(value)
        }
        Setting::Dynamic(compute) => {
            let node = node.clone();
            let mut last = None;
            let effect = follow(Box::new(move || {
                let value = compute();
                // The visitor may have changed a property since.
                if last.as_ref() != Some(&value) || kind == SettingKind::Property {
                    set(&node, kind, name, &value);
                    last = Some(value);
                }
            }));
            DrawnSetting::Dynamic { _effect: effect }
        }
    }
}

fn set(node: &Element, kind: SettingKind, name: &str, value: &Value) {
    // Browsers refuse only invalid names, and all names are literals of this program.
    match kind {
        SettingKind::Attribute => {
            let _ = match value {
                Value::Off => node.remove_attribute(name),
                Value::On => node.set_attribute(name, ""),
                Value::Text(text) => node.set_attribute(name, text),
            };
        }
        SettingKind::Class => {
            let _ = node
                .class_list()
                .toggle_with_force(name, *value != Value::Off);
        }
        SettingKind::Style => {
            let style = node.unchecked_ref::<HtmlElement>().style();
            let _ = match value {
                Value::Off | Value::On => style.remove_property(name).map(|_| ()),
                Value::Text(text) => style.set_property(name, text),
            };
        }
        SettingKind::Property => {
            let value = match value {
                Value::Off => JsValue::FALSE,
                Value::On => JsValue::TRUE,
                Value::Text(text) => JsValue::from_str(text),
            };
            let _ = js_sys::Reflect::set(node, &JsValue::from_str(name), &value);
        }
    }
}

/// Adds an event listener; the handler in the returned cell may be replaced later.
fn listen(node: &Element, event: &str, handler: Handler) -> Rc<RefCell<Handler>> {
    let cell = Rc::new(RefCell::new(handler));
    let inner = Rc::clone(&cell);
    let call = Closure::<dyn Fn(Event)>::new(move |event| {
        let handler = Rc::clone(&inner.borrow());
        handler(event);
    });
    // The browser frees the closure with the element.
    let call = call.into_js_value();
    let _ = node.add_event_listener_with_callback(event, call.unchecked_ref());
    cell
}

/// Makes the drawn part equal to `view`, in place as far as possible.
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
        (Part::Fragment(parts, end), View::Fragment(views)) => {
            for mut part in parts.drain(views.len().min(parts.len())..) {
                remove(&mut part);
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
        (Part::Dynamic { content, .. }, View::Dynamic(compute)) => {
            let content = Rc::clone(content);
            *part = draw_dynamic(compute, content);
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

/// Returns `true` if an element can be patched into another one: they differ only in values and
/// children.
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
                if *old != value || *kind == SettingKind::Property {
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
    for (_, mut element, owner) in old.into_iter().flatten() {
        element.node.remove();
        element.children.iter_mut().for_each(release);
        owner.cleanup();
    }
    let Some(parent) = list.end.parent_node() else {
        return;
    };
    let mut next: Node = list.end.clone().into();
    for (_, element, _) in list.elements.iter().rev() {
        // An element already in place is not moved, since it would lose the focus.
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

fn remove(part: &mut Part) {
    for_each_node(part, &mut |node| {
        if let Some(parent) = node.parent_node() {
            let _ = parent.remove_child(node);
        }
    });
    release(part);
}

/// Ends the effects inside a part. The task of an effect outlives it by a moment and holds what the
/// effect has drawn; an effect in there must not run any more, since its signals are gone.
fn release(part: &mut Part) {
    match part {
        Part::Text(..) => {}
        Part::Element(element) => element.children.iter_mut().for_each(release),
        Part::Fragment(parts, _) => parts.iter_mut().for_each(release),
        Part::Dynamic { content, .. } => {
            let content = content.borrow_mut().take();
            content.into_iter().for_each(|mut part| release(&mut part));
        }
        Part::Keyed { list, .. } => {
            let elements = std::mem::take(&mut list.borrow_mut().elements);
            for (_, mut element, _) in elements {
                element.children.iter_mut().for_each(release);
            }
        }
    }
}

/// Returns the first node of a part; every part has at least one.
fn first_node(part: &Part) -> Node {
    let mut first = None;
    for_each_node(part, &mut |node| {
        first.get_or_insert_with(|| node.clone());
    });
    first.unwrap_or_else(|| document().create_text_node("").into())
}

/// Calls `with` for the top-level nodes of a part.
fn for_each_node(part: &Part, with: &mut dyn FnMut(&Node)) {
    match part {
        Part::Text(node, _) => with(node),
        Part::Element(element) => with(&element.node),
        Part::Fragment(parts, end) => {
            for part in parts {
                for_each_node(part, with);
            }
            with(end);
        }
        Part::Dynamic { content, .. } => {
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
