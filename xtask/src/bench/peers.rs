//! Other implementations of the same work, with the benchmark that they share. They are no part of the project: where their folder, or a
//! tool that they need, is not there, what would be measured against them is not run, and the report says why.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{json::Json, site};
use crate::{
    shell::{self, on_path},
    tools::Tool,
};

/// Trains with onnxruntime-web, one thread.
pub const ORT: &str = "ort-training?threads=1";

/// Python packages that make onnxruntime-web's training artefacts; the first has dependencies that are not wanted.
const ALONE: &str = "onnxruntime-training-cpu==1.19.2";
const WITH_IT: &str = "onnx==1.16.2 numpy<2 h5py sympy cerberus flatbuffers packaging protobuf";

/// A folder of peers that is built.
#[derive(Debug)]
pub struct Peers {
    folder: PathBuf,
}

/// One call of the shared benchmark.
#[derive(Debug)]
pub struct Call<'a> {
    /// What its results are filed as.
    pub name: &'a str,
    /// Works, separated by commas.
    pub works: &'a str,
    /// Peers by name.
    pub peers: &'a [&'a str],
    /// Our page: its name, and its folder.
    pub page: (&'a str, &'a str),
    /// Interleaved runs.
    pub runs: u32,
    /// Timed updates of each run.
    pub updates: u32,
    /// Updates before them.
    pub warmup: u32,
    /// Whether WebGPU calls are counted.
    pub trace: bool,
    /// Whether to measure at once, rather than wait up to a minute before each run until the machine is quiet.
    pub quick: bool,
}

impl Peers {
    /// The peers of `source`, which is left as it is: one that is not built is copied and built in target/bench/peers.
    pub fn prepare(source: &Path) -> Result<Self, String> {
        if !source.join("bench.mjs").is_file() {
            return Err(format!("{} holds no bench.mjs", source.display()));
        }
        let missing = ["node", "npm"].into_iter().find(|program| !on_path(program));
        if let Some(program) = missing {
            return Err(format!("{program} is not installed"));
        }
        if source.join("node_modules").is_dir() && source.join("dist").is_dir() {
            let folder = source.to_path_buf();
            return Ok(Self { folder });
        }
        let folder = site::folder().join("peers");
        copy_tree(source, &folder)?;
        let peers = Self { folder };
        peers.build()?;
        Ok(peers)
    }

    fn build(&self) -> Result<(), String> {
        if !self.has("node_modules") {
            self.run("Installing what the peers need", "npm ci --no-audit --no-fund")?;
        }
        self.run("Writing the work as numbers", "node ref/dump.mjs")?;
        if !self.has("ref/refnative") {
            let compiler = ["gcc", "clang", "cc"].into_iter().find(|c| on_path(c));
            match compiler {
                Some(compiler) => self.run(
                    "Compiling the reference",
                    &format!("{compiler} -O3 -march=native -ffast-math -DNATIVE ref/ref.c -o ref/refnative -lm"),
                )?,
                None => println!("    no C compiler, so no reference losses"),
            }
        }
        if !self.has("dist/vendor/ort/W1/training_model.onnx")
            && let Err(why) = self.ort_artefacts()
        {
            println!("    no training artefacts for onnxruntime-web: {why}");
        }
        self.run("Bundling the peers", "node build.mjs")
    }

    fn ort_artefacts(&self) -> Result<(), String> {
        let python = ["python3", "python"].into_iter().find(|p| on_path(p));
        let python = python.ok_or("Python is not installed")?;
        // Written last, so that what an interrupted call left half done is done again.
        let ready = self.folder.join("pyenv/ready");
        if !ready.is_file() {
            self.run("Making a Python environment", &format!("{python} -m venv pyenv"))?;
            let install = "pyenv/bin/python -m pip install -q";
            self.run(
                "Installing onnxruntime-training",
                &format!("{install} --no-deps {ALONE}"),
            )?;
            self.run("Installing what it needs", &format!("{install} {WITH_IT}"))?;
            fs::write(&ready, "").map_err(|e| format!("cannot write {}: {e}", ready.display()))?;
        }
        self.run(
            "Deriving onnxruntime's gradient graphs",
            "pyenv/bin/python ref/ort_artifacts.py W0 W1 W2",
        )
    }

    fn run(&self, title: &str, line: &str) -> Result<(), String> {
        shell::run(title, self.command(line))
    }

    fn command(&self, line: &str) -> Command {
        let mut command = shell::command(line);
        command.current_dir(&self.folder);
        command
    }

    fn has(&self, path: &str) -> bool {
        self.folder.join(path).exists()
    }

    /// Whether a peer can run; what is missing where it cannot.
    pub fn has_peer(&self, peer: &str) -> Result<(), String> {
        let name = peer.split('?').next().unwrap_or_default();
        if !self.has(&format!("dist/{name}/index.html")) {
            return Err(format!("{name} is not built"));
        }
        if peer == ORT && !self.has("dist/vendor/ort/W1/training_model.onnx") {
            return Err("onnxruntime's training artefacts are not there; they need Python and its packages".to_owned());
        }
        Ok(())
    }

    /// The results of one call: one object a run.
    pub fn bench(&self, call: &Call) -> Result<Vec<Json>, String> {
        let chromium = Tool::Chromium.program().ok_or("Chromium is not there")?;
        let chromium = shell::where_is(chromium).ok_or("Chromium is not there")?;
        let there: Vec<&str> = call
            .peers
            .iter()
            .copied()
            .filter(|peer| self.has_peer(peer).is_ok())
            .collect();
        let out = site::folder().join(format!("{}.json", call.name));
        let mut command = self.command("node bench.mjs --min-updates 3 --budget 60000");
        command.args(["--works", call.works, "--peers", &there.join(",")]);
        command.args(["--runs", &call.runs.to_string()]);
        command.args([
            "--updates",
            &call.updates.to_string(),
            "--warmup",
            &call.warmup.to_string(),
        ]);
        let (name, page) = call.page;
        command.args(["--page", &format!("{name}={}", site::folder().join(page).display())]);
        command.arg("--chromium").arg(chromium);
        command.arg("--out").arg(&out);
        if !call.quick && !call.trace {
            command.args(["--settle", "0.3:60"]);
        }
        if call.trace {
            command.arg("--trace-gpu");
        }
        shell::run(&format!("Measuring: {}", call.name), command)?;
        let text = fs::read_to_string(&out).map_err(|e| format!("cannot read {}: {e}", out.display()))?;
        let mut results = Json::read(&text)?.get("results").list().to_vec();
        // What could not run has a result that says why, as what failed has.
        for peer in call.peers {
            if let Err(why) = self.has_peer(peer) {
                results.extend(call.works.split(',').map(|work| {
                    Json::object([
                        ("peer", (*peer).into()),
                        ("work", work.into()),
                        ("error", why.as_str().into()),
                    ])
                }));
            }
        }
        Ok(results)
    }
}

/// Copies all files; what else lies in the copy, built by an earlier call, stays.
fn copy_tree(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("cannot copy {}: {e}", from.display());
    fs::create_dir_all(to).map_err(wrong)?;
    for entry in fs::read_dir(from).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(wrong)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ORT, Peers};

    #[test]
    fn what_is_missing_is_said() {
        let folder = std::env::temp_dir().join(format!("microbatch-lab-peers-{}", std::process::id()));
        assert!(Peers::prepare(&folder).unwrap_err().contains("bench.mjs"));
        fs::create_dir_all(folder.join("dist/wasm-hand")).unwrap();
        fs::create_dir_all(folder.join("dist/ort-training")).unwrap();
        for page in ["wasm-hand", "ort-training"] {
            fs::write(folder.join("dist").join(page).join("index.html"), "").unwrap();
        }
        let peers = Peers { folder: folder.clone() };
        assert_eq!(peers.has_peer("wasm-hand"), Ok(()));
        assert!(peers.has_peer("jax-wasm").unwrap_err().contains("jax-wasm"));
        assert!(peers.has_peer(ORT).unwrap_err().contains("Python"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
