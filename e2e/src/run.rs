//! What a person does with a run and reads of it.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use crate::{Page, Trouble};

impl Page {
    /// What the run does, in the page's words: "Training", "Paused", ...
    pub async fn state(&self) -> Result<String, Trouble> {
        let state = self
            .ask("return document.querySelector('.state')?.textContent ?? ''")
            .await?;
        Ok(state.as_str().unwrap_or_default().trim().to_owned())
    }

    /// Waits until the run does this.
    pub async fn until_state(&self, words: &str, limit: Duration) -> Result<Duration, Trouble> {
        let script = format!("return document.querySelector('.state')?.textContent.trim() === '{words}'");
        self.until(&format!("the run says {words:?}"), limit, &script).await
    }

    /// One row of "Lane by lane": a text for each lane.
    pub async fn compared(&self, row: &str) -> Result<Vec<String>, Trouble> {
        let script = format!(
            "const head = [...document.querySelectorAll('table.compare th[scope=row]')].find(th => th.textContent.trim() === '{row}'); \
             return head ? [...head.parentElement.querySelectorAll('td')].map(td => td.textContent.trim().replace(/\\s+/g, ' ')) : []"
        );
        let cells = self.ask(&script).await?;
        Ok(cells
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect())
    }

    /// Applied updates of the first lane.
    pub async fn applied(&self) -> Result<u64, Trouble> {
        let cells = self.compared("Applied updates").await?;
        Ok(cells.first().map_or(0, |text| digits(text)))
    }

    /// Waits for so many applied updates.
    pub async fn until_applied(&self, updates: u64, limit: Duration) -> Result<Duration, Trouble> {
        // Asked of the page at every turn, since each message may carry many updates.
        let script = format!(
            "const head = [...document.querySelectorAll('table.compare th[scope=row]')].find(th => th.textContent.trim() === 'Applied updates'); \
             return Number(head?.parentElement.querySelector('td')?.textContent.replace(/\\D/g, '') ?? 0) >= {updates}"
        );
        self.until(&format!("{updates} applied updates"), limit, &script).await
    }

    /// Waits until the device may be used.
    pub async fn until_device(&self, kind: &str, limit: Duration) -> Result<Duration, Trouble> {
        let script = format!(
            "const badge = document.querySelector('.device-badge'); \
             return badge?.dataset.device === '{kind}' && !badge.querySelector('.device-busy')?.textContent.trim()"
        );
        self.until(&format!("the device is {kind}"), limit, &script).await
    }

    /// Downloads the journal and reads it.
    pub async fn journal(&self) -> Result<Vec<Value>, Trouble> {
        self.ask(
            "window.journalBlob = null; const make = URL.createObjectURL.bind(URL); \
             URL.createObjectURL = blob => { window.journalBlob = blob; return make(blob) }; return null",
        )
        .await?;
        self.press("Download journal (.jsonl)").await?;
        self.until(
            "the journal is written",
            Duration::from_secs(10),
            "return window.journalBlob !== null",
        )
        .await?;
        self.ask("window.journalBlob.text().then(text => { window.journalText = text }); return null")
            .await?;
        self.until(
            "the journal is read",
            Duration::from_secs(10),
            "return typeof window.journalText === 'string'",
        )
        .await?;
        let text = self.ask("return window.journalText").await?;
        let lines = text.as_str().unwrap_or_default().lines();
        Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    /// Main-thread tasks over 50 ms in the next `span`, in milliseconds.
    pub async fn long_tasks(&self, span: Duration) -> Result<Vec<f64>, Trouble> {
        self.ask(
            "window.longTasks = []; new PerformanceObserver(list => list.getEntries().forEach(e => window.longTasks.push(e.duration))) \
             .observe({type: 'longtask'}); return null",
        )
        .await?;
        tokio::time::sleep(span).await;
        let tasks = self.ask("return window.longTasks").await?;
        Ok(tasks
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect())
    }
}

/// Loss per supervised token of each group and lane in a journal.
pub fn losses(journal: &[Value]) -> BTreeMap<(u64, u64), f64> {
    let mut sums: BTreeMap<(u64, u64), (f64, f64)> = BTreeMap::new();
    for line in journal.iter().filter(|line| line["kind"] == "microbatch") {
        let (Some(group), Some(lane)) = (line["group"].as_u64(), line["lane"].as_u64()) else {
            continue;
        };
        let sum = sums.entry((group, lane)).or_default();
        // A loss that is not a number is null in JSON, and must not pass for 0.
        sum.0 += line["loss_sum"].as_f64().unwrap_or(f64::NAN);
        sum.1 += line["supervised_tokens"].as_f64().unwrap_or(f64::NAN);
    }
    sums.into_iter()
        .map(|(key, (loss, tokens))| (key, loss / tokens))
        .collect()
}

/// The number in a text such as `1,234`.
fn digits(text: &str) -> u64 {
    text.chars()
        .filter(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{digits, losses};

    #[test]
    fn numbers_are_read_through_their_separators() {
        assert_eq!(digits("1,234"), 1234);
        assert_eq!(digits("1\u{a0}234"), 1234);
        assert_eq!(digits("–"), 0);
    }

    #[test]
    fn losses_are_weighted_by_token() {
        let line = |loss: f64, n: u64| json!({"kind": "microbatch", "group": 0, "lane": 1, "loss_sum": loss, "supervised_tokens": n});
        let all = losses(&[json!({"kind": "run"}), line(1024.0, 512), line(6144.0, 1536)]);
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [((0, 1), 3.5)]);
    }
}
