//! A small static file server for dist/: right types, caching by name, and nothing else.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    time::Duration,
};

/// The most of a request that is read, in bytes. The bench page tells all numbers of a measurement in one address.
const REQUEST_LIMIT: u64 = 64 * 1024;

/// Serves `folder` until the process ends; on `port`, or on the next free one of the ten after it. 0 takes any.
pub fn serve_forever(folder: &Path, port: u16) -> Result<(), String> {
    if !folder.join("index.html").is_file() {
        return Err(format!(
            "{} holds no index.html; run `cargo xtask build` first",
            folder.display()
        ));
    }
    let listener = bind(port)?;
    let taken = listener.local_addr().map_err(|e| e.to_string())?.port();
    if port != 0 && taken != port {
        println!("port {port} is taken by another program, using {taken}");
    }
    println!("==> Microbatch Lab: http://localhost:{taken}/   (Ctrl-C ends it)");
    accept(&listener, folder, None);
    Ok(())
}

/// Serves `folder` in the background on a free port, for tests; returns that port.
pub fn serve_in_background(folder: PathBuf) -> Result<u16, String> {
    let listener = bind(0)?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    std::thread::spawn(move || accept(&listener, &folder, None));
    Ok(port)
}

/// The same, and hands on what pages tell it: the decoded query of every request for `/told`.
pub fn serve_and_listen(folder: PathBuf) -> Result<(u16, Receiver<String>), String> {
    let listener = bind(0)?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    let (told, heard) = mpsc::channel();
    std::thread::spawn(move || accept(&listener, &folder, Some(&told)));
    Ok((port, heard))
}

fn bind(port: u16) -> Result<TcpListener, String> {
    let last = if port == 0 { 0 } else { port.saturating_add(10) };
    let mut refused = String::new();
    for port in port..=last {
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error.to_string(),
        }
    }
    Err(format!(
        "no free port from {port} to {last} ({refused}); choose another with --port"
    ))
}

fn accept(listener: &TcpListener, folder: &Path, told: Option<&Sender<String>>) {
    let folder: Arc<Path> = Arc::from(folder);
    for stream in listener.incoming().flatten() {
        let (folder, told) = (Arc::clone(&folder), told.cloned());
        std::thread::spawn(move || {
            // A browser that hangs up early is no fault of the server.
            let _served = answer(stream, &folder, told.as_ref());
        });
    }
}

fn answer(mut stream: TcpStream, folder: &Path, told: Option<&Sender<String>>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut head = BufReader::new((&stream).take(REQUEST_LIMIT));
    let mut request = String::new();
    head.read_line(&mut request)?;
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = request.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let with_body = method == "GET";
    if !with_body && method != "HEAD" {
        return respond(
            &mut stream,
            "405 Method Not Allowed",
            "text/plain",
            "no-store",
            b"only GET and HEAD",
            true,
        );
    }
    let said = target.strip_prefix("/told?").and_then(percent_decoded);
    if let (Some(told), Some(said)) = (told, said) {
        // Nobody may listen any more, and then it is of no interest.
        let _sent = told.send(said);
        return respond(&mut stream, "204 No Content", "text/plain", "no-store", b"", false);
    }
    let found = file_for(folder, target).and_then(|path| Some((fs::read(&path).ok()?, path)));
    match found {
        Some((content, path)) => respond(
            &mut stream,
            "200 OK",
            media_type(&path),
            cache_control(&path),
            &content,
            with_body,
        ),
        None => respond(
            &mut stream,
            "404 Not Found",
            "text/plain",
            "no-store",
            b"no such file",
            with_body,
        ),
    }
}

fn respond(
    stream: &mut TcpStream,
    status: &str,
    media: &str,
    cache: &str,
    content: &[u8],
    with_body: bool,
) -> std::io::Result<()> {
    // Isolation gives the page and its workers clocks finer than 100 microseconds.
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {}\r\nCache-Control: {cache}\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes())?;
    if with_body {
        stream.write_all(content)?;
    }
    stream.flush()
}

/// The file that a request's target names, or `None` where it leaves the folder or is not there.
fn file_for(folder: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let decoded = percent_decoded(path)?;
    let relative = Path::new(if decoded.is_empty() { "index.html" } else { &decoded });
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let file = folder.join(relative);
    (inside && !decoded.contains('\\') && file.is_file()).then_some(file)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        // Anything else, and the browser would not compile it while it loads.
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "txt" | "toml" | "jsonl" | "wgsl" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// A name with a hash in it never changes its content; all else is asked for anew each time.
fn cache_control(path: &Path) -> &'static str {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let hashed = stem
        .split(['-', '_', '.'])
        .any(|part| part.len() >= 14 && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
    if hashed {
        "public, max-age=31536000, immutable"
    } else {
        "no-store"
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        path::Path,
    };

    use super::{bind, cache_control, file_for, media_type, serve_and_listen, serve_in_background};

    fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream
            .write_all(format!("{request}\r\nHost: localhost\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn serves_a_folder_and_nothing_outside_it() {
        let folder = std::env::temp_dir().join(format!("microbatch-lab-server-{}", std::process::id()));
        fs::create_dir_all(folder.join("a b")).unwrap();
        fs::write(folder.join("index.html"), "<p>home").unwrap();
        fs::write(folder.join("a b/x.wasm"), "wasm").unwrap();
        let port = serve_in_background(folder.clone()).unwrap();
        let home = ask(port, "GET /?v=1 HTTP/1.1");
        assert!(home.starts_with("HTTP/1.1 200") && home.ends_with("<p>home"), "{home}");
        assert!(home.contains("Cross-Origin-Opener-Policy: same-origin"));
        assert!(ask(port, "GET /a%20b/x.wasm HTTP/1.1").contains("Content-Type: application/wasm"));
        let head = ask(port, "HEAD / HTTP/1.1");
        assert!(
            head.contains("Content-Length: 7") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        assert!(ask(port, "GET /missing.js HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(ask(port, "POST / HTTP/1.1").starts_with("HTTP/1.1 405"));
        for escape in [
            "/../secret",
            "/%2e%2e/secret",
            "//etc/passwd",
            "/a b/..%5c..%5cx",
            "/%zz",
            "/%",
        ] {
            assert_eq!(file_for(&folder, escape), None, "{escape}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_a_page_tells_is_heard() {
        let (port, heard) = serve_and_listen(std::env::temp_dir()).unwrap();
        assert!(ask(port, "GET /told?%7B%22a%22:1%7D HTTP/1.1").starts_with("HTTP/1.1 204"));
        assert_eq!(heard.recv().unwrap(), "{\"a\":1}");
        let deaf = serve_in_background(std::env::temp_dir()).unwrap();
        assert!(ask(deaf, "GET /told?a HTTP/1.1").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn a_taken_port_is_left_to_its_owner() {
        let first = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let second = bind(port).unwrap().local_addr().unwrap().port();
        assert!(second > port && second <= port + 10);
    }

    #[test]
    fn only_hashed_names_are_kept() {
        assert!(cache_control(Path::new("app-1f3a9b00c2d4e5f6_bg.wasm")).contains("immutable"));
        assert!(cache_control(Path::new("worker_cpu-1f3a9b00c2d4e5f6_loader.js")).contains("immutable"));
        assert_eq!(cache_control(Path::new("index.html")), "no-store");
        assert_eq!(cache_control(Path::new("worker_cpu_loader.js")), "no-store");
    }

    #[test]
    fn unknown_types_are_bytes() {
        assert_eq!(media_type(Path::new("x.wasm")), "application/wasm");
        assert_eq!(media_type(Path::new("x")), "application/octet-stream");
    }
}
