//! Messages as bytes.

use microbatch_lab::{
    bridge::wire,
    protocol::{Event, Fault, RunState},
};

use super::{RUN, worker::load};

#[test]
fn messages_arrive_as_they_were_sent_and_broken_ones_are_refused() {
    let events = vec![
        Event::Ready { version: 7 },
        Event::State {
            run: RUN,
            state: RunState::Finished,
        },
    ];
    let bytes = wire::encode_events(&events).expect("bytes");
    assert_eq!(wire::decode_events(&bytes), Ok(events));
    let command = load(3);
    let bytes = wire::encode_command(&command).expect("bytes");
    assert_eq!(wire::decode_command(&bytes), Ok(command));

    let longer = [bytes.as_slice(), &[0]].concat();
    for broken in [&bytes[..bytes.len() - 1], &longer, &[250, 1, 2]] {
        assert!(matches!(wire::decode_command(broken), Err(Fault::Unreachable { .. })));
    }
}
