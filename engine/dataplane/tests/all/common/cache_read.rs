//! The IR of `tests/golden/cache_read.p4`, lowered by hand.

use netkv_ir::*;

use crate::common::{ProgramBuilder, binary, block, constant, copy, equal, load, set, straight};

pub fn program() -> Program {
    let mut b = ProgramBuilder::new();
    let (eth, eth_f) = b.header("h.eth", &[("dst", 48), ("src", 48), ("type", 16)]);
    let (ip, ip_f) = b.header(
        "h.ip",
        &[
            ("ver", 4),
            ("ihl", 4),
            ("tos", 8),
            ("len", 16),
            ("id", 16),
            ("frag", 16),
            ("ttl", 8),
            ("proto", 8),
            ("csum", 16),
            ("src", 32),
            ("dst", 32),
        ],
    );
    let (udp, udp_f) =
        b.header("h.udp", &[("sport", 16), ("dport", 16), ("len", 16), ("csum", 16)]);
    let (kv, kv_f) = b.header("h.kv", &[("op", 8), ("seq", 32), ("key", 128)]);
    let (values, value_f) = b.stack("h.v", 8, &[("d", 128)]);
    let idx = b.place("m.idx", 16);
    let bitmap = b.place("m.bitmap", 8);
    let hit_flag = b.place("m.hit", 1);
    let valid_flag = b.place("m.valid", 1);
    let hit_idx = b.place("hit.idx", 16);
    let hit_bitmap = b.place("hit.bitmap", 8);
    let port = b.place("fwd.port", 9);
    let count = b.place("c", 32);
    let (mac, addr, udp_port) = (b.place("mac", 48), b.place("a", 32), b.place("q", 16));
    let lookup_hit = b.place("lookup.hit", 1).word;
    let lookup_run = b.place("lookup.run", 32).word;
    let standard = b.standard();

    let hits = b.register("I.hits", 32, 65536);
    let valid = b.register("I.valid", 1, 65536);
    let arrays: Vec<RegisterId> =
        (0..8).map(|i| b.register(&format!("I.r{i}"), 128, 65536)).collect();
    let hit = b.action("I.hit", &[("idx", 16), ("bitmap", 8)]);
    let fwd = b.action("I.fwd", &[("port", 9)]);
    let no_action = b.action("NoAction", &[]);
    let lookup =
        b.table("I.lookup", &[("h.kv.key", 128, MatchKind::Exact)], &[hit, no_action], 65536);
    let route = b.table("I.route", &[("h.ip.dst", 32, MatchKind::Exact)], &[fwd, no_action], 1024);

    let select = |key: Place, value: u128, target: u32, end: u32| Terminator::Select {
        keys: vec![load(key)],
        cases: vec![SelectCase {
            patterns: vec![Pattern::Value(Value::new(key.width, value))],
            target,
        }],
        default: end,
    };
    b.program.parser = Cfg {
        blocks: vec![
            block(vec![Op::Extract(eth)], select(eth_f[2], 0x800, 1, 4)),
            block(vec![Op::Extract(ip)], select(ip_f[7], 17, 2, 4)),
            block(vec![Op::Extract(udp)], select(udp_f[1], 5000, 3, 4)),
            block(vec![Op::Extract(kv)], Terminator::Exit),
            block(vec![], Terminator::Exit),
        ],
    };
    let target = |params: Vec<Place>, block| ApplyTarget { params, block };
    let apply = |table, key, targets| {
        Terminator::Apply(Box::new(Apply {
            table,
            keys: vec![load(key)],
            hit: lookup_hit,
            action_run: lookup_run,
            targets,
        }))
    };
    let index = || Expr::Unary { op: UnaryOp::ZeroExtend, arg: Box::new(load(idx)), width: 32 };
    let grow = |place: Place| Op::Assign {
        to: place,
        value: binary(BinaryOp::Add, load(place), constant(16, 128)),
    };
    let first = b.program.stacks[values as usize].first;
    let stride = b.program.stacks[values as usize].stride;
    let mut answer = Vec::new();
    for (i, register) in (0..).zip(&arrays) {
        answer.push(Op::SetValid(first + i));
        let to = Place { word: value_f[0].word + i * stride, width: 128 };
        answer.push(Op::RegisterRead { register: *register, index: index(), to });
    }
    answer.extend([
        set(kv_f[0], 2),
        copy(mac, eth_f[0]),
        copy(eth_f[0], eth_f[1]),
        copy(eth_f[1], mac),
        copy(addr, ip_f[10]),
        copy(ip_f[10], ip_f[9]),
        copy(ip_f[9], addr),
        copy(udp_port, udp_f[1]),
        copy(udp_f[1], udp_f[0]),
        copy(udp_f[0], udp_port),
        grow(ip_f[3]),
        grow(udp_f[2]),
        set(udp_f[3], 0),
    ]);
    let jump = Terminator::Jump;
    let is_read = binary(BinaryOp::And, load(b.valid(kv)), equal(kv_f[0], 0));
    b.program.ingress = Cfg {
        blocks: vec![
            block(vec![], Terminator::Branch { cond: is_read, then: 1, otherwise: 6 }),
            block(
                vec![],
                apply(
                    lookup,
                    kv_f[2],
                    vec![target(vec![hit_idx, hit_bitmap], 2), target(vec![], 3)],
                ),
            ),
            block(vec![copy(idx, hit_idx), copy(bitmap, hit_bitmap), set(hit_flag, 1)], jump(3)),
            block(vec![], Terminator::Branch { cond: equal(hit_flag, 1), then: 4, otherwise: 6 }),
            block(
                vec![
                    Op::RegisterRead { register: hits, index: index(), to: count },
                    Op::RegisterWrite {
                        register: hits,
                        index: index(),
                        value: binary(BinaryOp::Add, load(count), constant(32, 1)),
                    },
                    Op::RegisterRead { register: valid, index: index(), to: valid_flag },
                ],
                Terminator::Branch { cond: equal(valid_flag, 1), then: 5, otherwise: 6 },
            ),
            block(answer, jump(6)),
            block(vec![], apply(route, ip_f[10], vec![target(vec![port], 7), target(vec![], 8)])),
            block(vec![copy(standard.egress_spec, port)], jump(8)),
            block(vec![], Terminator::Exit),
        ],
    };
    let summed = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10];
    let data = summed.map(|i: usize| HashInput {
        value: load(ip_f[i]),
        header: Some(ip),
        varbit_length: None,
    });
    b.program.compute_checksum = straight(vec![Op::UpdateChecksum {
        cond: load(b.valid(ip)),
        data: data.to_vec(),
        to: ip_f[8],
        header: Some(ip),
        algorithm: HashAlgorithm::Csum16,
        with_payload: false,
    }]);
    b.program.deparser = straight(vec![
        Op::Emit(eth),
        Op::Emit(ip),
        Op::Emit(udp),
        Op::Emit(kv),
        Op::EmitStack(values),
    ]);
    b.program
}
