//! The world's question: suspects on a board of evidence, what the step brought, and the answers.

mod board;

use sentinel_page_protocol::{AgentView, Answer, Suspect};

use super::copy_button::copy_button;
use super::widgets::{mean_value, text_with_help};
use crate::dom::html::{b, button, div, h1, h2, li, p, pre, section, span, ul};
use crate::dom::svg::{path, svg};
use crate::dom::{El, IntoView, View};
use crate::number_format::{css, fixed, percent};
use crate::page::{MEAN_SEEDS, Page};
use crate::reactive::memo;

/// Probability from which a guess of the network counts as one.
pub(crate) const LIKELY: f32 = 0.5;

/// Returns the screen of the world's question.
#[must_use]
pub fn spot(page: Page) -> El {
    let ended = memo(move || page.answer().is_some());
    let side = div()
        .class("spot-side")
        .child(step_card(page))
        .child(move || match page.answer() {
            Some(answer) => ends(page, &answer),
            None => open(page),
        });
    section()
        .class("spot")
        .label("Question")
        .attr("data-ended", move || ended.get().then_some("true"))
        .child(question(page))
        .child(
            div()
                .class("spot-grid")
                .child(board::board(page))
                .child(side),
        )
}

/// Returns the question or, at the end, who named whom.
fn question(page: Page) -> El {
    let title = move || match page.answer() {
        Some(answer) => verdict(page, &answer),
        None => page.program_text(|program| &program.question),
    };
    let line = move || match page.answer() {
        Some(answer) => answer.text.clone(),
        None => page.program_text(|program| &program.hint),
    };
    div()
        .class("ask")
        .attr("aria-live", "polite")
        .child(h1().id("question").child(title))
        .child(p().id("hint").child(line))
}

/// Returns the title of a suspect in the frame at the cursor.
pub(super) fn title_of(page: Page, suspect: u8) -> String {
    let of = |all: &Vec<Suspect>| all.get(usize::from(suspect)).map(|s| s.title.clone());
    page.main
        .frame
        .with(|frame| of(&frame.as_ref()?.suspects))
        .unwrap_or_default()
}

fn verdict(page: Page, answer: &Answer) -> String {
    let own = match page.named() {
        Some(named) => format!(
            "You: {} at step {}.",
            title_of(page, named.suspect),
            named.step
        ),
        None => "You named nobody.".to_owned(),
    };
    let network = match &answer.guess {
        Some(guess) if guess.probability < LIKELY => "The network was not sure.".to_owned(),
        Some(guess) => format!(
            "The network: {} at step {}, {}\u{a0}sure.",
            title_of(page, guess.suspect),
            guess.step,
            percent(guess.probability).replace(' ', "\u{a0}"),
        ),
        None => "The network could not be loaded.".to_owned(),
    };
    format!("{own} {network} It was {}.", title_of(page, answer.suspect))
}

/// Returns the card of the step at the cursor.
fn step_card(page: Page) -> El {
    let count = move || format!("Step {} of {}", page.cursor(), page.action_count());
    let of = move |text: fn(&AgentView) -> &String| {
        move || {
            let frame = page.main.frame.get();
            frame.map(|frame| text(&frame).clone()).unwrap_or_default()
        }
    };
    section()
        .class("card step-card")
        .label("This step")
        .child(p().class("quiet").child(count))
        .child(p().class("big").child(of(|view| &view.headline)))
        .child(
            p().class("quiet")
                .child(of(|view| match view.remark.is_empty() {
                    true => &view.detail,
                    false => &view.remark,
                })),
        )
}

/// Returns the cards while the question is open: the visitor's suspect, and the hidden one of the
/// network.
fn open(page: Page) -> View {
    let named = move || {
        let is_known = page.knows_answer();
        let (name, line) = match page.named() {
            Some(named) if is_known => (
                title_of(page, named.suspect),
                format!("Named at step {}.", named.step),
            ),
            Some(named) => (
                title_of(page, named.suspect),
                format!("Named at step {}. Tap another one to change.", named.step),
            ),
            None if is_known => (
                "Nobody".to_owned(),
                "You have seen the answer of this one.".to_owned(),
            ),
            None => ("Nobody yet".to_owned(), "Tap one on the board.".to_owned()),
        };
        View::Fragment(vec![
            p().class("big").child(name).into_view(),
            p().class("quiet").child(line).into_view(),
        ])
    };
    let own = section()
        .class("card")
        .label("Your suspect")
        .child(h2().child("Your suspect"))
        .child(named);
    let hidden = "It has one. It is hidden until the end, so that it does not give yours away.";
    let network = section()
        .class("card network")
        .label("The network’s suspect")
        .child(h2().child("The network’s suspect"))
        .child(p().class("quiet").child(hidden));
    let others = div()
        .class("control-row")
        .child(act(page, "another", "Another one", |page| {
            page.ask_again(false);
        }))
        .child(today(page));
    View::Fragment(vec![
        own.into_view(),
        network.into_view(),
        others.into_view(),
    ])
}

/// Returns the cards of the end: the network's suspicion, the scores, and what comes next.
fn ends(page: Page, answer: &Answer) -> View {
    let words = page.spot_words();
    let heading = text_with_help(
        &format!(
            "The network’s suspicion of {}",
            title_of(page, answer.suspect)
        ),
        &words.source,
    );
    // The guess may be another suspect than the answer, of which the curve is.
    let guess = answer.guess.as_ref();
    let reason = guess.filter(|guess| guess.probability >= LIKELY);
    let reason = reason.map(|guess| {
        let title = b().child(format!("Why {}? ", title_of(page, guess.suspect)));
        let text = p().id("reason").child(title);
        text.child(guess.reason.clone())
    });
    let suspicion = section()
        .class("card")
        .label("The network’s suspicion")
        .child(h2().child(heading))
        .child(curve(page, answer))
        .child(reason);
    View::Fragment(vec![
        result(page).into_view(),
        suspicion.into_view(),
        scores(page).into_view(),
    ])
}

/// Returns the curve of the probability that the network gave to the answer.
fn curve(page: Page, answer: &Answer) -> View {
    let suspect = usize::from(answer.suspect);
    let values: Vec<f32> = page.main.steps.with_untracked(|steps| {
        let values = steps
            .iter()
            .map(|step| step.suspicion.get(suspect).copied());
        values.map(Option::unwrap_or_default).collect()
    });
    let last = values.len().max(2) - 1;
    let mut line = String::new();
    for (index, value) in values.iter().enumerate() {
        let x = css(index as f64 / last as f64 * 100.0);
        let y = css(f64::from(1.0 - value) * 40.0);
        line += &format!("{}{x} {y}", if index == 0 { "M" } else { "L" });
    }
    let end = values.last().copied().unwrap_or_default();
    let drawing = svg()
        .class(format!("curve s{suspect}"))
        .attr("viewBox", "0 -2 100 44")
        .attr("preserveAspectRatio", "none")
        .attr("aria-hidden", "true")
        .child(path().class("base").attr("d", "M0 40H100M0 0H100"))
        .child(path().class("line").attr("d", line));
    let foot = format!(
        "From step 1 to {}; {} at the end.",
        values.len(),
        percent(end)
    );
    View::Fragment(vec![
        drawing.into_view(),
        p().class("quiet").child(foot).into_view(),
    ])
}

/// Returns the score of the episode beside the means of many.
fn scores(page: Page) -> El {
    let label = page
        .main
        .status
        .with_untracked(|status| status.episode.player_label.clone());
    let score = page.main.last_score().unwrap_or_default();
    let here = p()
        .class("means")
        .child(span().child(format!("{label}, this episode")))
        .child(b().class("num").child(fixed(score, 3)));
    let means = move || {
        let means = page.mean_scores()?;
        let rows = means.iter().map(|mean| {
            li().child(span().child(mean.label.clone()))
                .child(mean_value(mean))
        });
        Some(ul().class("means").child(rows.collect::<Vec<El>>()))
    };
    let wait = move || {
        let waits = page.mean_scores().is_none();
        waits.then(|| p().class("quiet").child("Computing…"))
    };
    section()
        .class("card")
        .label("Scores")
        .child(h2().child("Scores"))
        .child(here)
        .child(p().class("quiet").child(format!(
            "Means of {MEAN_SEEDS} other episodes, played in this tab:"
        )))
        .child(means)
        .child(wait)
}

/// Returns the visitor's result, and the ways on.
fn result(page: Page) -> El {
    let text = move || {
        page.spot_result()
            .map(|result| result.text())
            .unwrap_or_default()
    };
    let refused = "The browser did not allow copying. Select the text instead.";
    let copy = copy_button(page, "Copy result", "Result copied", refused, text);
    let buttons = div()
        .class("control-row")
        .child(
            act(page, "again", "Again", |page| {
                page.ask_again(false);
            })
            .class("primary"),
        )
        .child(today(page))
        .child(act(page, "play-fresh", "Play it yourself", |page| {
            page.play_fresh();
        }))
        .child(act(page, "train-own", "Train one yourself", |page| {
            let world = page.state.with_untracked(|state| state.world.clone());
            page.open_training(&world);
        }))
        .child(copy.id("copy-result"));
    section()
        .class("card")
        .label("Your result")
        .child(h2().child("Your result, to share"))
        .child(pre().id("result-text").attr("tabindex", "0").child(text))
        .child(buttons)
}

/// Returns the button that asks the question of the day.
fn today(page: Page) -> El {
    act(page, "today", "Today’s question", |page| {
        page.ask_again(true);
    })
}

/// Returns a button of this screen.
fn act(page: Page, id: &'static str, word: &'static str, press: fn(Page)) -> El {
    button().id(id).on_press(move || press(page)).child(word)
}
