//! Finding things by role and accessible name, in the accessibility tree that a screen reader would be given.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::prelude::*;

use crate::Trouble;

/// What a name has to be like.
#[derive(Clone, Debug)]
pub enum Name {
    /// Exactly this.
    Is(String),
    /// This, and more.
    Begins(String),
    /// Anything.
    Any,
}

impl Name {
    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Is(wanted) => name == wanted,
            Self::Begins(start) => name.starts_with(start.as_str()),
            Self::Any => true,
        }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::Is(name.to_owned())
    }
}

/// One node of the tree.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    id: i64,
}

/// The one element of this role and name; waits up to ten seconds for it. More than one is as wrong as none.
pub async fn one(driver: &WebDriver, role: &str, name: &Name) -> Result<WebElement, Trouble> {
    let start = Instant::now();
    loop {
        let nodes = nodes(driver, role).await?;
        let fitting: Vec<&Node> = nodes.iter().filter(|node| name.fits(&node.name)).collect();
        match fitting.as_slice() {
            [node] => {
                if let Ok(element) = element(driver, node.id).await {
                    return Ok(element);
                }
            }
            [] => {}
            more => return Err(format!("{} of role {role} are called {name:?}", more.len()).into()),
        }
        if start.elapsed() > Duration::from_secs(10) {
            let there: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            return Err(format!("no {role} called {name:?}; there are: {}", there.join(" | ")).into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Names of all elements of this role, in the order of the page.
pub async fn names(driver: &WebDriver, role: &str) -> Result<Vec<String>, Trouble> {
    Ok(nodes(driver, role).await?.into_iter().map(|node| node.name).collect())
}

async fn nodes(driver: &WebDriver, role: &str) -> Result<Vec<Node>, Trouble> {
    let document = send(driver, "Runtime.evaluate", json!({"expression": "document"})).await?;
    let root = &document["result"]["objectId"];
    let answer = send(
        driver,
        "Accessibility.queryAXTree",
        json!({"objectId": root, "role": role}),
    )
    .await?;
    let list = answer["nodes"]
        .as_array()
        .ok_or("the browser gave no accessibility tree")?;
    let node = |value: &Value| {
        let hidden = value["ignored"].as_bool().unwrap_or(false);
        let name = value["name"]["value"].as_str().unwrap_or_default().to_owned();
        value["backendDOMNodeId"]
            .as_i64()
            .filter(|_| !hidden)
            .map(|id| Node { name, id })
    };
    Ok(list.iter().filter_map(node).collect())
}

/// A node of the tree as an element: marked, found by the mark, unmarked.
async fn element(driver: &WebDriver, id: i64) -> Result<WebElement, Trouble> {
    let resolved = send(driver, "DOM.resolveNode", json!({"backendNodeId": id})).await?;
    let mark =
        |declaration: &str| json!({"objectId": resolved["object"]["objectId"], "functionDeclaration": declaration});
    send(
        driver,
        "Runtime.callFunctionOn",
        mark("function() { this.setAttribute('data-found', '') }"),
    )
    .await?;
    let found = driver.find(By::Css("[data-found]")).await;
    send(
        driver,
        "Runtime.callFunctionOn",
        mark("function() { this.removeAttribute('data-found') }"),
    )
    .await?;
    Ok(found?)
}

/// One command of the Chrome DevTools protocol.
pub async fn send(driver: &WebDriver, command: &str, parameters: Value) -> Result<Value, Trouble> {
    Ok(driver.cdp().send_raw(command, parameters).await?)
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn names_fit() {
        assert!(Name::from("Run").fits("Run"));
        assert!(!Name::from("Run").fits("Run ended"));
        assert!(Name::Begins("m:".to_owned()).fits("m: examples in a microbatch"));
        assert!(Name::Any.fits(""));
    }
}
