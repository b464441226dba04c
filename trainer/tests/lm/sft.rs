//! Supervised fine-tuning compared with TRL's `SFTTrainer`.

use std::collections::BTreeMap;
use std::path::Path;

use sentinel_language::sft::{
    OverlongRows, PreparedRows, RowOptions, SftRow, packed_gradient, prepare_rows,
};
use sentinel_lm::{
    AdamOptions, BaseCheck, CausalLm, ChatTemplate, ForwardOptions, LmError, Lora, Optimizer,
    Tokenizer, TrainedPart,
};
use sentinel_play::corpus::{ChatMessage, Example, Prompt, Role, parse_example};
use sentinel_rl::{Schedule, ScheduleKind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::oracle::{
    LOGITS, Oracle, Recorded, alone, close, device, every_variant, numbers, oracle, oracle_of,
};

#[derive(Deserialize)]
struct Run {
    rows: Vec<[String; 2]>,
    input_ids: Vec<Vec<u32>>,
    labels: Vec<Vec<i64>>,
    curve: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    loss: f64,
    grad_norm: f64,
    learning_rate: f64,
    entropy: f64,
    mean_token_accuracy: f64,
    num_tokens: f64,
}

fn examples(run: &Run) -> Vec<Example> {
    let example = |(index, [asked, answer]): (usize, &[String; 2])| Example {
        prompt: Prompt::Chat(vec![ChatMessage {
            role: Role::User,
            content: asked.clone(),
        }]),
        completion: answer.clone(),
        is_conversation: false,
        line: index + 1,
        fallback: false,
    };
    run.rows.iter().enumerate().map(example).collect()
}

fn rows(tokenizer: &Tokenizer, run: &Run, options: RowOptions) -> Result<PreparedRows, LmError> {
    prepare_rows(tokenizer, &examples(run), options)
}

/// Returns a recorded run of TRL and the tokenizer of its model.
fn run(oracle: &Oracle, variant: &str) -> Option<(Run, Tokenizer)> {
    let run = oracle.json(&format!("sft_trainer_run_{variant}.json"))?;
    Some((run, oracle.tokenizer(&format!("model_{variant}"))?))
}

const OPTIONS: RowOptions = RowOptions {
    max_length: 1024,
    too_long: OverlongRows::Refuse,
    completion_only: true,
    last_answer_only: false,
};

pub(crate) fn adapted(oracle: &Oracle, variant: &str) -> Option<CausalLm> {
    let folder = oracle.model(variant)?;
    let adapter = oracle.adapter(&format!("adapter_{variant}"))?;
    let mut model = CausalLm::load(&folder, &device()).unwrap();
    Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
    model.set_trained_part(TrainedPart::Adapter);
    Some(model)
}

#[test]
fn sft_rows_match_trl() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some((run, tokenizer)) = run(&oracle, &variant) else {
            continue;
        };
        let found = rows(&tokenizer, &run, OPTIONS).unwrap();
        assert_eq!(found.rows.len(), run.rows.len());
        for ((row, ids), labels) in found.rows.iter().zip(&run.input_ids).zip(&run.labels) {
            assert_eq!(&row.ids, ids);
            let start = labels.iter().take_while(|label| **label == -100).count();
            assert_eq!(row.start, start);
            assert_eq!(row.label_count(), labels.len() - start);
        }
    }
}

#[test]
fn long_rows_are_refused_dropped_or_cut_by_option() {
    let oracle = oracle();
    let variants = oracle.variants();
    let found = variants.iter().find_map(|variant| run(&oracle, variant));
    let Some((run, tokenizer)) = found else {
        return;
    };
    let all = RowOptions {
        completion_only: false,
        ..OPTIONS
    };
    let all = rows(&tokenizer, &run, all).unwrap();
    assert_eq!(all.rows[0].label_count(), run.input_ids[0].len() - 1);

    let lengths: Vec<usize> = run.input_ids.iter().map(Vec::len).collect();
    let longest = (0..lengths.len()).max_by_key(|at| lengths[*at]).unwrap();
    let start = untrained(&run.labels[longest]);
    // One limit leaves nothing of the longest completion, the other cuts one token.
    limited(&run, &tokenizer, start);
    limited(&run, &tokenizer, lengths[longest] - 1);
}

fn untrained(labels: &[i64]) -> usize {
    labels.iter().take_while(|label| **label == -100).count()
}

/// Checks the treatment of rows longer than `limit`; the longest row is.
fn limited(run: &Run, tokenizer: &Tokenizer, limit: usize) {
    let with = |too_long| {
        let options = RowOptions {
            max_length: limit,
            too_long,
            ..OPTIONS
        };
        rows(tokenizer, run, options)
    };
    let lengths: Vec<usize> = run.input_ids.iter().map(Vec::len).collect();
    let lines = |of: &dyn Fn(usize) -> bool| -> Vec<usize> {
        let rows = (0..lengths.len()).filter(|at| of(*at));
        rows.map(|at| at + 1).collect()
    };
    let over = lines(&|at| lengths[at] > limit);
    let empty = lines(&|at| lengths[at] > limit && untrained(&run.labels[at]) >= limit);
    let refused = with(OverlongRows::Refuse).unwrap_err().to_string();
    let count = format!("{} of {} rows", over.len(), lengths.len());
    assert!(refused.starts_with(&count), "{refused}");
    let dropped = with(OverlongRows::Drop).unwrap();
    assert_eq!(dropped.dropped, over);
    assert_eq!(dropped.rows.len() + over.len(), lengths.len());
    let cut = with(OverlongRows::Cut).unwrap();
    assert_eq!(cut.dropped, empty);
    assert_eq!(cut.cut.len() + empty.len(), over.len());
    let fits = |row: &SftRow| row.ids.len() <= limit && row.label_count() > 0;
    assert!(cut.rows.iter().all(fits));
}

/// Returns the recorded batch as rows.
pub(crate) fn recorded_rows(file: &BTreeMap<String, Recorded>) -> Vec<SftRow> {
    let columns = file["input_ids"].shape[1];
    let ids = file["input_ids"].ids();
    let (mask, labels) = (file["attention_mask"].flags(), &file["labels"].whole);
    let parts = ids
        .chunks(columns)
        .zip(mask.chunks(columns))
        .zip(labels.chunks(columns));
    parts
        .map(|((ids, mask), labels)| {
            let kept = || {
                mask.iter()
                    .enumerate()
                    .filter(|(_, on)| **on)
                    .map(|(at, _)| at)
            };
            let ids: Vec<u32> = kept().map(|at| ids[at]).collect();
            let start = kept().take_while(|at| labels[*at] == -100).count();
            assert!(kept().skip(start).all(|at| labels[at] != -100));
            SftRow {
                ids,
                start,
                ..SftRow::default()
            }
        })
        .collect()
}

#[derive(Deserialize)]
struct Case {
    mean_token_accuracy: f64,
    steps: Vec<Step>,
    full_loss: f64,
}

#[derive(Deserialize)]
struct Step {
    loss: f64,
    grad_norm: f64,
}

/// For any division into micro-batches, every label has the same weight.
#[test]
fn sft_gradients_match_torch_for_any_micro_batch_size() {
    for (oracle, variant) in every_variant() {
        let Some(file) = oracle.tensors(&format!("sft_{variant}.safetensors")) else {
            continue;
        };
        let Some(case) = oracle.json::<Case>(&format!("sft_{variant}.json")) else {
            continue;
        };
        let Some(mut model) = adapted(&oracle, &variant) else {
            continue;
        };
        let rows = recorded_rows(&file);
        let rows: Vec<&SftRow> = rows.iter().collect();
        for micro in 1..=rows.len() {
            let found =
                packed_gradient(&model, &alone(&rows), micro, 0, ForwardOptions::training(0))
                    .unwrap();
            close(
                "loss",
                &[found.loss as f32],
                &[case.steps[0].loss as f32],
                LOGITS,
            );
            let norm = found.grads.norm().unwrap() / case.steps[0].grad_norm;
            assert!((norm - 1.0).abs() < 1e-3, "{norm}");
            for (index, parameter) in model.parameters().iter().enumerate() {
                let Some(recorded) = file.get(&format!("grad.{}", parameter.name())) else {
                    continue;
                };
                let ours = numbers(found.grads.get(index).unwrap().clone());
                let most = recorded
                    .values
                    .iter()
                    .fold(1e-6_f32, |most, x| most.max(x.abs()));
                close(parameter.name(), &ours, &recorded.values, 1e-3 * most);
            }
            if micro == rows.len() {
                assert!((found.accuracy - case.mean_token_accuracy).abs() < 1e-6);
            }
        }
        Lora::detach(&mut model);
        model.set_trained_part(TrainedPart::Everything);
        let found =
            packed_gradient(&model, &alone(&rows), 1, 0, ForwardOptions::training(0)).unwrap();
        close(
            "full loss",
            &[found.loss as f32],
            &[case.full_loss as f32],
            LOGITS,
        );
    }
}

/// Compares a whole recorded run: learning rate, loss, norm, accuracy and tokens of every step, and
/// the final adapter.
#[test]
fn sft_run_matches_trl() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some((run, tokenizer)) = run(&oracle, &variant) else {
            continue;
        };
        let Some(mut model) = adapted(&oracle, &variant) else {
            continue;
        };
        let prepared = rows(&tokenizer, &run, OPTIONS).unwrap();
        let rows: Vec<&SftRow> = prepared.rows.iter().collect();
        let adam = AdamOptions {
            weight_decay: 0.01,
            ..AdamOptions::default()
        };
        let mut optimizer = Optimizer::new(&adam);
        let schedule = Schedule {
            kind: ScheduleKind::Linear,
            peak: 1e-2,
            warmup: 1,
            total: run.curve.len(),
        };
        let mut tokens = 0;
        for (step, point) in run.curve.iter().enumerate() {
            // The last step of an epoch takes the remaining rows.
            let window = rows.chunks(4).nth(step % rows.len().div_ceil(4)).unwrap();
            let found =
                packed_gradient(&model, &alone(window), 2, 0, ForwardOptions::training(0)).unwrap();
            tokens += found.tokens;
            let rate = schedule.at(step);
            let norm = optimizer.step(&mut model, found.grads, rate).unwrap();
            let near = |what: &str, ours: f64, theirs: f64, share: f64| {
                let apart = (ours - theirs).abs();
                assert!(
                    apart <= share * theirs.abs().max(1e-3),
                    "{what} {step}: {ours} {theirs}"
                );
            };
            near("learning rate", rate, point.learning_rate, 1e-9);
            near("loss", found.loss, point.loss, 1e-3);
            near("norm", norm, point.grad_norm, 5e-3);
            near("tokens", tokens as f64, point.num_tokens, 1e-9);
            near("accuracy", found.accuracy, point.mean_token_accuracy, 1e-3);
            near("entropy", found.entropy, point.entropy, 5e-3);
        }
        let last = oracle.tensors(&format!("sft_trainer_final_adapter_{variant}.safetensors"));
        let Some(last) = last else {
            continue;
        };
        let mut compared = 0;
        for parameter in model.parameters() {
            if let Some(recorded) = last.get(parameter.name()) {
                let ours = parameter.values().unwrap();
                close(parameter.name(), &ours, &recorded.values, 5e-4);
                compared += 1;
            }
        }
        assert_eq!(compared, last.len());
    }
}

#[derive(Deserialize)]
struct Conversations {
    messages: Value,
    cases: Vec<Conversation>,
}

#[derive(Deserialize)]
struct Conversation {
    family: String,
    template: String,
    text: String,
    answers: Vec<String>,
}

/// The beginning of an answer that TRL's training variant of a template marks, and that belongs to the generation
/// prompt here, so that a completion never begins with it.
fn marked_beside_the_answer(family: &str) -> &'static str {
    if family == "qwen2_5" { "\n" } else { "" }
}

/// All answers of a conversation are trained, as TRL's `assistant_only_loss` marks them, but for what the
/// generation prompt has already.
#[test]
fn all_answers_of_conversations_are_trained_as_in_trl() {
    let recorded: Option<Conversations> = oracle_of("").json("conversations.json");
    let (Some(recorded), Some(mut tokenizer)) = (recorded, oracle().tokenizer("model_tied")) else {
        return;
    };
    assert_eq!(recorded.cases.len(), 4);
    let line = json!({"messages": recorded.messages}).to_string();
    let example = parse_example(&line, 1).unwrap();
    let tokens = [
        ("bos_token", "<|begin_of_text|>"),
        ("eos_token", "<|endoftext|>"),
    ];
    let tokens = tokens.map(|(role, token)| (role.to_owned(), token.to_owned()));
    for case in recorded.cases {
        let path = Path::new(&case.family);
        let template = ChatTemplate::new(path, &case.template, tokens.clone().into()).unwrap();
        tokenizer.set_template(template);
        let rows = |last_answer_only| {
            let options = RowOptions {
                last_answer_only,
                ..OPTIONS
            };
            let found = prepare_rows(&tokenizer, std::slice::from_ref(&example), options);
            found.unwrap().rows.remove(0)
        };
        let row = rows(false);
        let text =
            |range: std::ops::Range<usize>| tokenizer.decode(&row.ids[range], false).unwrap();
        assert_eq!(text(0..row.ids.len()), case.text);
        let trained = row
            .earlier
            .iter()
            .cloned()
            .chain(std::iter::once(row.start..row.ids.len()));
        let trained: Vec<String> = trained.map(text).collect();
        let beside = marked_beside_the_answer(&case.family);
        let answers = case.answers.iter();
        let wanted: Vec<&str> = answers
            .map(|answer| answer.strip_prefix(beside).unwrap())
            .collect();
        assert_eq!(trained, wanted, "{}", case.family);
        let lengths = row.earlier.iter().map(ExactSizeIterator::len);
        assert_eq!(
            row.label_count(),
            lengths.sum::<usize>() + row.ids.len() - row.start
        );

        let last = rows(true);
        assert_eq!((&last.ids, last.start), (&row.ids, row.start));
        assert_eq!(last.label_count(), row.ids.len() - row.start);
    }
}

/// The end of a turn is trained after answers with white space around them, and with templates that write more
/// after the last message, as that of Phi-3.
#[test]
fn every_answer_is_trained_to_the_end_of_its_turn() {
    let Some(mut tokenizer) = oracle().tokenizer("model_tied") else {
        return;
    };
    let answers = [" a = [ ]\n", "  ", "no  ", "last "];
    let turns = answers.map(|answer| {
        [
            json!({"role": "user", "content": "no or a = [ ]?"}),
            json!({"role": "assistant", "content": answer}),
        ]
    });
    let line = json!({"messages": turns.concat()}).to_string();
    let example = parse_example(&line, 1).unwrap();
    for (content, is_trimmed) in [("message.content", false), ("message.content | trim", true)] {
        for after in [
            "",
            "{% if not add_generation_prompt %}{{ eos_token }}{% endif %}",
        ] {
            let source = format!(
                "{{% for message in messages %}}{{{{ '<|im_start|>' + message.role + '\n' }}}}{{{{ {content} }}}}\
                 {{{{ '<|im_end|>\n' }}}}{{% endfor %}}\
                 {{% if add_generation_prompt %}}{{{{ '<|im_start|>assistant\n' }}}}{{% endif %}}{after}"
            );
            let eos = ("eos_token".to_owned(), "<|endoftext|>".to_owned());
            let template = ChatTemplate::new(Path::new("turns"), &source, [eos].into()).unwrap();
            tokenizer.set_template(template);
            let found = prepare_rows(&tokenizer, std::slice::from_ref(&example), OPTIONS).unwrap();
            let row = &found.rows[0];
            let text = |range: &std::ops::Range<usize>| {
                tokenizer.decode(&row.ids[range.clone()], false).unwrap()
            };
            let trained: Vec<String> = row.earlier.iter().map(text).collect();
            let wanted = answers[..3].iter().map(|answer| {
                let answer = if is_trimmed { answer.trim() } else { answer };
                format!("{answer}<|im_end|>\n")
            });
            assert_eq!(trained, wanted.collect::<Vec<_>>(), "{source}");
        }
    }
}

/// A template that drops earlier answers cannot train them.
#[test]
fn dropped_answer_is_refused_with_a_way_out() {
    let Some(mut tokenizer) = oracle().tokenizer("model_tied") else {
        return;
    };
    let last = "{{ messages[0].content }}:{% if not add_generation_prompt %}{{ messages[-1].content }}{% endif %}";
    tokenizer.set_template(ChatTemplate::new(Path::new("last"), last, [].into()).unwrap());
    let turns = ["ask", "answer", "more", "end"];
    let roles = ["user", "assistant", "user", "assistant"];
    let messages: Vec<Value> = (roles.iter().zip(turns))
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    let example = parse_example(&json!({"messages": messages}).to_string(), 1).unwrap();
    let error = prepare_rows(&tokenizer, std::slice::from_ref(&example), OPTIONS).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("line 1 of the corpus: "), "{error}");
    assert!(error.contains("--last-answer-only"), "{error}");
    let last = RowOptions {
        last_answer_only: true,
        ..OPTIONS
    };
    assert_eq!(
        prepare_rows(&tokenizer, &[example], last)
            .unwrap()
            .rows
            .len(),
        1
    );
}
