//! Actions of the cluster world as an address writes them: a letter for the kind (`a` allocate, `p`
//! preempt, `r` ask for a report, `v` verify, `f` verify and flag, `t` wait) and what is named
//! after it: `j12` a job, `g3` a GPU, `w4` a worker. `aj12g3w4vj12t` are three actions.

use sentinel_env::cluster::{Action, GPUS_MAX, GpuId, JOBS_MAX, JobId};
use sentinel_env::slot::Slot;

/// Appends the code of an action to `out`.
pub(super) fn write(action: Action, out: &mut String) {
    out.push(match action {
        Action::Allocate { .. } => 'a',
        Action::Preempt { .. } => 'p',
        Action::RequestInfo { .. } => 'r',
        Action::Verify {
            force_flag: false, ..
        } => 'v',
        Action::Verify { .. } => 'f',
        Action::Tick => 't',
    });
    let mut name = |letter: char, number: Option<usize>| {
        if let Some(number) = number {
            out.push(letter);
            out.push_str(&number.to_string());
        }
    };
    name('j', action.job().map(JobId::index));
    name('g', action.gpu().map(GpuId::index));
    name('w', action.worker().map(Slot::index));
}

/// Parses the first action of `text` and removes it from `text`.
pub(super) fn read(text: &mut &str) -> Option<Action> {
    let mut letters = text.chars();
    let kind = letters.next()?;
    *text = letters.as_str();
    let job = named(text, 'j', JOBS_MAX)?.map(|n| JobId(n as u8));
    let gpu = named(text, 'g', GPUS_MAX)?.map(|n| GpuId(n as u8));
    let worker = named(text, 'w', Slot::ALL.len())?.and_then(Slot::new);
    Some(match (kind, gpu) {
        ('a', gpu) => Action::Allocate { job, gpu, worker },
        ('p', None) => Action::Preempt { job, worker },
        ('r', None) => Action::RequestInfo { job, worker },
        ('v' | 'f', None) => Action::Verify {
            job,
            worker,
            force_flag: kind == 'f',
        },
        ('t', None) if job.is_none() && worker.is_none() => Action::Tick,
        _ => return None,
    })
}

/// Returns the number after `letter`, or `Some(None)` where the letter does not come next; `None`
/// if the letter has no number below `end`.
fn named(text: &mut &str, letter: char, end: usize) -> Option<Option<usize>> {
    let Some(rest) = text.strip_prefix(letter) else {
        return Some(None);
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number: usize = rest[..digits].parse().ok()?;
    *text = &rest[digits..];
    (number < end).then_some(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut text: &str) -> Option<Vec<Action>> {
        let mut actions = Vec::new();
        while !text.is_empty() {
            actions.push(read(&mut text)?);
        }
        Some(actions)
    }

    #[test]
    fn every_action_is_read_as_written() {
        let (job, gpu, worker) = (Some(JobId(29)), Some(GpuId(15)), Some(Slot::ALL[4]));
        let force_flag = true;
        let actions = [
            Action::Allocate { job, gpu, worker },
            Action::Allocate {
                job: None,
                gpu: None,
                worker: None,
            },
            Action::Preempt { job, worker: None },
            Action::RequestInfo { job: None, worker },
            Action::Verify {
                job,
                worker,
                force_flag,
            },
            Action::Verify {
                job,
                worker: None,
                force_flag: false,
            },
            Action::Tick,
        ];
        let mut text = String::new();
        for action in actions {
            write(action, &mut text);
        }
        assert_eq!(text, "aj29g15w4apj29rw4fj29w4vj29t");
        assert_eq!(all(&text), Some(actions.to_vec()));
    }

    #[test]
    fn text_that_is_no_action_is_refused() {
        for bad in [
            "x",
            "j1",
            "aj",
            "aj30",
            "ag16",
            "aw5",
            "aw9999999999999999999999",
            "pg1",
            "tj1",
            "tw0",
            "vg2",
            "aj1j2",
            "a1",
            "äj1",
        ] {
            assert_eq!(all(bad), None, "{bad}");
        }
    }
}
