//! The commands of the Hugging Face Hub: jobs, uploads and downloads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use sentinel_http::{HfEnvironment, HttpError, sleep_unless};
use sentinel_hub::job::{JobConfig, JobSpec, submit};
use sentinel_hub::pull::PullConfig;
use sentinel_hub::upload::{UploadConfig, UploadEvent, UploadPlan};
use sentinel_hub::{HubClient, HubError, pull, upload};

use super::interrupt::{Interrupted, on_interrupt};
use super::output::{note, print, warn};

/// Returns a size in the largest decimal unit in which it is at least 1.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// Returns a client for the Hub that the environment names.
fn client() -> Result<HubClient> {
    Ok(HubClient::new(&HfEnvironment::read())?)
}

/// Waits before the next attempt of a request; returns `false` if Ctrl-C was pressed.
fn wait(pause: Duration, stop: &AtomicBool) -> bool {
    note(&format!(
        "no usable answer yet: trying again in {} s",
        pause.as_secs()
    ));
    sleep_unless(stop, pause)
}

/// Returns the result of a command that Ctrl-C may have stopped.
fn or_interrupted<T>(result: Result<T, HubError>, rest: &str) -> Result<T> {
    result.map_err(|error| {
        if matches!(error, HubError::Http(HttpError::Interrupted)) {
            note(rest);
            Interrupted.into()
        } else {
            error.into()
        }
    })
}

/// Runs `sentinel hf-job`, which prints a job or submits it.
pub(crate) fn job(config: &JobConfig) -> Result<()> {
    let spec = JobSpec::new(config, |name| std::env::var(name).ok())?;
    if config.dry_run {
        for missing in &spec.missing {
            note(&format!("not ready: {missing}"));
        }
        return print(&(serde_json::to_string_pretty(&spec)? + "\n"));
    }
    // What is missing is told before a login is asked for.
    if !spec.missing.is_empty() {
        return Err(HubError::Incomplete(spec.missing).into());
    }
    let stop = on_interrupt()?;
    let client = client()?.with_wait(|pause| wait(pause, stop));
    let result = submit(&spec, &client);
    let found = or_interrupted(result, "stopped; no job was submitted")?;
    print(&format!(
        "job {} of {}: {}\n{}\nfollow the log with: {}\n",
        found.id,
        found.owner,
        found.stage,
        found.url,
        found.follow_command()
    ))
}

/// Runs `sentinel upload`, which lists files or uploads them.
pub(crate) fn upload(config: &UploadConfig) -> Result<()> {
    let plan = upload::plan(config)?;
    for mark in &plan.marks {
        warn(mark);
    }
    if config.dry_run {
        return print(&listed(config, &plan));
    }
    let stop = on_interrupt()?;
    let client = client()?.with_wait(|pause| wait(pause, stop));
    let result = upload::upload(config, &plan, &client, &|event| {
        note(&match event {
            UploadEvent::Sending { path, size: bytes } => format!("send {path} ({})", size(*bytes)),
            UploadEvent::Present { path } => format!("skip {path}: the Hub has its content"),
            UploadEvent::Committing { files, removed } => {
                format!("commit {files} files, remove {removed}")
            }
        });
        !stop.load(Ordering::Relaxed)
    });
    let found = or_interrupted(result, "stopped; the same command continues the upload")?;
    let ignored = match found.ignored {
        0 => String::new(),
        count => format!(", {count} ignored by the repository's .gitignore"),
    };
    let counts = format!("{} unchanged{ignored}", found.unchanged);
    print(&match found.commit_url {
        Some(url) => format!(
            "{}: {} files added or replaced, {} removed, {counts}; {} sent to git LFS\n{url}\n",
            plan.repo,
            found.added,
            found.removed,
            size(found.sent)
        ),
        None => format!("{}: nothing to change, {counts}\n", plan.repo),
    })
}

/// Returns the list of `--dry-run`.
fn listed(config: &UploadConfig, plan: &UploadPlan) -> String {
    let width = plan
        .items
        .iter()
        .map(|item| item.name.len())
        .max()
        .unwrap_or(0);
    let mut text = format!("{}, branch {}\n", plan.repo, config.revision);
    let (mut all, mut large) = (0, 0);
    for item in &plan.items {
        let place = if item.is_large() { "LFS" } else { "git" };
        large += usize::from(item.is_large());
        all += item.size;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<width$}  {:>9}  {place}",
            item.name,
            size(item.size)
        );
    }
    let count = plan.items.len();
    let _ = writeln!(
        text,
        "{count} files, {}; {large} in git LFS (the Hub decides)",
        size(all)
    );
    if !plan.left_out.is_empty() {
        let names = plan.left_out.join(", ");
        let _ = writeln!(text, "left out without --checkpoints: {names}");
    }
    if !config.delete.is_empty() {
        let patterns = config.delete.join(", ");
        let _ = writeln!(
            text,
            "removed from the repository unless listed above: {patterns}"
        );
    }
    text.push_str("nothing was sent (--dry-run)\n");
    text
}

/// Runs `sentinel pull`, which downloads a repository.
pub(crate) fn pull(config: &PullConfig) -> Result<()> {
    let stop = on_interrupt()?;
    let client = client()?.with_wait(|pause| wait(pause, stop));
    let result = pull::pull(config, &client, &|name, bytes| {
        note(&format!("get {name} ({})", size(bytes)));
        !stop.load(Ordering::Relaxed)
    });
    let found = or_interrupted(result, "stopped; nothing was kept")?;
    for mark in &found.marks {
        warn(mark);
    }
    print(&format!(
        "{}: {} files, {}, commit {}; all digests are those that the Hub lists\n",
        config.out.display(),
        found.files,
        size(found.bytes),
        found.commit
    ))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use sentinel_env::WorldName;

    use super::*;
    use crate::cli::{Command, parse};

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn words(line: &str) -> Vec<OsString> {
        let plain = line.replace(['"', '\''], "").replace("$SENTINEL_", "me/");
        plain.split_whitespace().map(OsString::from).collect()
    }

    fn spec(line: &str) -> Result<JobSpec, Box<dyn std::error::Error>> {
        match parse(&words(line))?.0 {
            Command::HfJob(config) => Ok(JobSpec::new(&config, |_| None)?),
            _ => Err("it is another command".into()),
        }
    }

    /// The commands in a job are command lines of this program.
    #[test]
    fn job_steps_are_valid_command_lines() -> Tested {
        let mut count = 0;
        for world in WorldName::ALL {
            let job = spec(&format!(
                "sentinel hf-job --mode train-full --image a --bf16 --world {world}"
            ))?;
            let text = job.command.last().ok_or("no command")?;
            for step in text
                .split(" && ")
                .filter(|step| step.starts_with("sentinel lm "))
            {
                count += 1;
                parse(&words(step)).map_err(|error| format!("{step}: {error}"))?;
            }
            let others = text.split(" && ").filter(|step| !step.contains(" lm "));
            for step in others.filter(|step| step.starts_with("sentinel ")) {
                let parsed = parse(&words(step)).map(|_| ());
                let kind = parsed.err().map(|error| error.kind());
                let is_version = kind == Some(clap::error::ErrorKind::DisplayVersion);
                assert!(kind.is_none() || is_version, "{step}: {kind:?}");
            }
        }
        assert_eq!(count, 12);
        Ok(())
    }

    #[test]
    fn reference_option_names_are_aliases() -> Tested {
        let theirs = "sentinel hf-job --mode train-full --namespace n --flavor a10g-small --timeout 2h \
                      --image i --repo-url u --model m --episodes 9 --task task1 --seed 3 --epochs 2 \
                      --batch-size 4 --learning-rate 1e-5 --lora-rank 16 --num-generations 6 \
                      --max-seq-length 512 --output-dir o";
        let ours = "sentinel hf-job --mode train-full --namespace n --flavor a10g-small --timeout 2h \
                    --image i --repo-url u --model m --episodes 9 --task task1 --seed 3 \
                    --num-train-epochs 2 --per-device-train-batch-size 4 --learning-rate 1e-5 \
                    --lora-r 16 --num-generations 6 --max-length 512 --output-dir o";
        assert_eq!(spec(theirs)?, spec(ours)?);
        Ok(())
    }

    /// The commands of the how-to pages are command lines of this program.
    #[test]
    fn documented_commands_are_valid() -> Tested {
        let pages = [
            include_str!("../../../docs/how-to/hugging-face.md"),
            include_str!("../../../docs/how-to/gpu-box.md"),
            include_str!("../../../docs/how-to/deploy-space.md"),
        ];
        let mut count = 0;
        for page in pages {
            let page = page
                .replace("\\\n", " ")
                .replace("$OPTIONS", "--device cuda --bf16");
            for line in page.lines().filter(|line| line.starts_with("sentinel ")) {
                let line = line.split(" #").next().unwrap_or(line);
                parse(&words(line)).map_err(|error| format!("{line}: {error}"))?;
                count += 1;
            }
        }
        assert!(count > 20, "{count}");
        Ok(())
    }

    #[test]
    fn sizes_are_formatted_with_units() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_500, "1.5 kB"),
            (12_345_678, "12.3 MB"),
            (3_000_000_000, "3.00 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
