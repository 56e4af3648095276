// The playbooks of exchanges, by families: what comes, what goes wrong, what follows.
import LupinCore
import LupinProxy

extension Playbook {
    static let all =
        plain + promotions + refusals + interrupted + attempts + cached + others

    /// Whatever gives the response, for every method that may come.
    static let plain: [Playbook] =
        (Method.defined.filter { $0 != .connect } + [.other("BREW")]).flatMap { method in
            [
                Playbook(
                    "\(method.token) over a kept connection needs bytes alone",
                    begins(.origin, with: method),
                    Array(sends.dropFirst(4)),
                    [
                        on(.bodyWaits(), .awaiting, needs: .bytes)
                    ],
                    relays
                ),
                Playbook(
                    "\(method.token) is answered by a rule",
                    begins(.rule, with: method),
                    relays
                ),
                Playbook(
                    "\(method.token) is answered from memory",
                    begins(.cache, with: method),
                    [on(.isPresented, .relaying)],
                    ends
                ),
                Playbook(
                    "\(method.token) in a task is answered by a rule",
                    byEvents: false,
                    begins(.rule, with: method),
                    relays
                ),
                Playbook(
                    "\(method.token) in a task is answered from memory",
                    byEvents: false,
                    begins(.cache, with: method),
                    [on(.isPresented, .relaying)],
                    ends
                ),
                Playbook(
                    "\(method.token) in a task goes to the origin",
                    byEvents: false,
                    triesInTask(begins(.origin, with: method)),
                    delivers
                ),
            ]
        }

    /// Every point where an exchange without a task gets one, and goes on where it stands.
    static let promotions: [Playbook] =
        [
            Playbook(
                "a password is asked for by events, and checked in a task",
                [
                    on(.arrives(password: true), .arrived, needs: .password),
                    on(.isPromoted, .arrived),
                    on(.arrives(password: true), .arrived, needs: .password),
                ],
                triesInTask(begins(.origin)),
                delivers
            ),
            Playbook(
                "an embedding program takes part from the beginning",
                [
                    on(.arrives(program: true), .arrived, needs: .interceptor),
                    on(.isPromoted, .arrived),
                ],
                triesInTask(begins(.origin)),
                delivers
            ),
            Playbook(
                "a client that waits for 100 has a task that watches the clock",
                [
                    on(.arrivesWaiting(.put, expects: true), .arrived, needs: .expectation),
                    on(.isPromoted, .arrived),
                ],
                triesInTask(begins(.origin, with: .put)),
                delivers
            ),
            Playbook(
                "an extended CONNECT is forwarded, and upgraded",
                [
                    on(.arrivesWaiting(.connect, webSocket: true), .arrived, needs: .webSocket),
                    on(.isPromoted, .arrived),
                ],
                triesInTask(begins(.origin, with: .connect)),
                [
                    on(.isDecided(.deliver), .delivering), on(.ends, .over),
                ]
            ),
            Playbook(
                "a request for lupin itself is answered in a task",
                [
                    on(.arrives(), .arrived), on(.isPromoted, .arrived), on(.ends, .over),
                ]
            ),
            Playbook(
                "a CONNECT becomes a tunnel",
                [on(.arrives(.connect), .arrived, needs: .connect), on(.isPromoted, .arrived)],
                begins(.tunnel, with: .connect),
                [on(.ends, .over)]
            ),
            Playbook(
                "a CONNECT is intercepted",
                [on(.arrives(.connect), .arrived, needs: .connect), on(.isPromoted, .arrived)],
                begins(.tunnel, with: .connect),
                [on(.isEnclosed, .targetInside)]
            ),
            Playbook(
                "a CONNECT by a parent proxy has a response of the parent",
                byEvents: false,
                begins(.tunnel, with: .connect),
                [on(.callerAsks, .preparing)],
                triesInTask([]),
                [
                    on(.isDecided(.deliver), .obtained), on(.ends, .over),
                ]
            ),
        ]
        + points.map { point in
            Playbook(
                "a task takes over \(point.name), where it stands",
                point.lines,
                [on(.isPromoted, point.phase)]
            )
        }

    /// Where an exchange without a task may be when something interrupts it.
    private static let points: [(name: String, lines: [Line], phase: Phase)] = [
        ("before its target is known", [], .arrived),
        ("behind the rules", Array((begins(.origin).prefix(2))), .matched),
        ("before a rule answers", begins(.rule), .answering),
        ("before the cache is asked", begins(.cache), .lookingUp),
        (
            "while other machines are asked",
            begins(.cache) + [
                on(.memoryMisses(asksOthers: true), .asking)
            ], .asking
        ),
        ("before its request is made", begins(.origin), .preparing),
        (
            "before it has a connection", begins(.origin) + [on(.isPrepared, .connecting)],
            .connecting
        ),
        ("while the response is awaited", sends, .awaiting),
        ("after the attempt has failed", sends + [on(.breaks, .broken, needs: .failure)], .broken),
        ("while the response is sent", sends + [on(.isPresented, .relaying)], .relaying),
        (
            "while the rest of an upload is read",
            sends + [
                on(.isPresented, .relaying), on(.bodyEnds, .finishing),
                on(.clientIsServed(uploadGoesOn: true), .finishing, needs: .lateness),
            ], .finishing
        ),
    ]

    /// What was refused, or could not be had, wherever that shows.
    static let refusals: [Playbook] = points.flatMap { point in
        [
            Playbook(
                "an error \(point.name) is answered in a task",
                point.lines,
                [
                    on(.fails, .failed), on(.isPromoted, .failed), on(.ends, .over),
                ]
            ),
            Playbook(
                "what a task waits for \(point.name) is refused",
                point.lines,
                [
                    on(.isPromoted, point.phase), on(.fails, .failed), on(.ends, .over),
                ]
            ),
        ]
    }

    /// What a body waits for, and what ends the wait.
    static let interrupted: [Playbook] = [
        Playbook(
            "a client that leaves during the response gets a task",
            sends,
            [
                on(.isPresented, .relaying),
                on(.bodyWaits(clientGone: true), .relaying, needs: .clientLeft),
                on(.isPromoted, .relaying),
                on(.bodyWaits(clientGone: true), .relaying, needs: .bytes),
            ]
        ),
        Playbook(
            "an upload that fails during the response gets a task",
            sends,
            [
                on(.isPresented, .relaying),
                on(.bodyWaits(uploadFailed: true), .relaying, needs: .failure),
                on(.isPromoted, .relaying),
                on(.bodyWaits(uploadFailed: true), .relaying, needs: .bytes),
                on(.fails, .failed),
            ]
        ),
        Playbook(
            "a client that has left counts more than its upload",
            sends,
            [
                on(.isPresented, .relaying),
                on(.bodyWaits(clientGone: true, uploadFailed: true), .relaying, needs: .clientLeft),
            ]
        ),
        Playbook(
            "an upload goes on behind the response in a task",
            sends,
            [
                on(.isPresented, .relaying), on(.bodyEnds, .finishing),
                on(.clientIsServed(uploadGoesOn: true), .finishing, needs: .lateness),
                on(.isPromoted, .finishing),
                on(.clientIsServed(uploadGoesOn: true), .finishing, needs: .lateness),
                on(.ends, .over),
            ]
        ),
        Playbook(
            "an upload that ends meanwhile needs nothing more",
            sends,
            [
                on(.isPresented, .relaying), on(.bodyEnds, .finishing),
                on(.clientIsServed(uploadGoesOn: true), .finishing, needs: .lateness),
                on(.isPromoted, .finishing), on(.clientIsServed(), .over),
            ]
        ),
    ]

    /// What follows attempts: each has its request made once.
    static let attempts: [Playbook] =
        [
            Playbook(
                "no connection is there, and a task makes one for the same attempt",
                begins(.origin),
                [
                    on(.isPrepared, .connecting), on(.isPromoted, .connecting),
                    on(.wantsConnection(), .connecting, needs: .connection),
                ],
                delivers
            ),
            Playbook(
                "an upgrade goes up in a task, by the same attempt",
                begins(.origin),
                [
                    on(.isPrepared, .connecting),
                    on(.wantsConnection(upgrade: true), .connecting, needs: .upgrade),
                    on(.isPromoted, .connecting),
                    on(.wantsConnection(upgrade: true), .connecting, needs: .connection),
                ],
                delivers
            ),
            Playbook(
                "a kept connection was closed, and the request is sent again",
                sends,
                [
                    on(.breaks, .broken, needs: .failure), on(.isPromoted, .broken),
                    on(.isDecided(.again), .preparing),
                ],
                triesInTask([]),
                delivers
            ),
            Playbook(
                "a redirect leads to a rule that answers",
                byEvents: false,
                triesInTask(begins(.origin)),
                [on(.isDecided(.answerByRule), .answering)],
                relays
            ),
            Playbook(
                "a redirect leads the cache to a rule that answers",
                byEvents: false,
                begins(.cache),
                [on(.memoryMisses(), .lookingUp, needs: .store)],
                [on(.callerAsks, .preparing)],
                triesInTask([]),
                [
                    on(.isDecided(.answerByRule), .obtained), on(.ends, .over),
                ]
            ),
        ]
        + (1...20).flatMap { repeats in
            let before = Array(
                repeatElement(
                    triesInTask([]) + [on(.isDecided(.again), .preparing)],
                    count: repeats
                )
                .joined()
            )
            return [
                Playbook(
                    "\(repeats) repetitions, and then the response",
                    byEvents: false,
                    begins(.origin),
                    before,
                    triesInTask([]),
                    delivers
                ),
                Playbook(
                    "\(repeats) repetitions of what events have sent, and then the response",
                    sends,
                    [on(.isPromoted, .awaiting), on(.isDecided(.again), .preparing)],
                    before,
                    triesInTask([]),
                    delivers
                ),
                Playbook(
                    "\(repeats) repetitions, and then an error",
                    byEvents: false,
                    begins(.origin),
                    before,
                    triesInTask([]),
                    [on(.fails, .failed), on(.ends, .over)]
                ),
                Playbook(
                    "\(repeats) repetitions for the cache, which has the response",
                    byEvents: false,
                    begins(.cache),
                    [
                        on(.memoryMisses(), .lookingUp, needs: .store),
                        on(.callerAsks, .preparing),
                    ],
                    before,
                    triesInTask([]),
                    [on(.isDecided(.deliver), .obtained), on(.ends, .over)]
                ),
            ]
        }

    /// What the cache leads to.
    static let cached: [Playbook] = [
        Playbook(
            "what memory lacks is looked for in a task, with what is known",
            begins(.cache),
            [
                on(.memoryMisses(), .lookingUp, needs: .store), on(.isPromoted, .lookingUp),
                on(.memoryMisses(), .lookingUp, needs: .store), on(.callerAsks, .preparing),
            ],
            triesInTask([]),
            [on(.isDecided(.deliver), .obtained), on(.ends, .over)]
        ),
        Playbook(
            "another machine has the response",
            begins(.cache),
            [on(.memoryMisses(asksOthers: true), .asking), on(.isPresented, .relaying)],
            ends
        ),
        Playbook(
            "no machine has the response, and a task fetches it",
            begins(.cache),
            [
                on(.memoryMisses(asksOthers: true), .asking),
                on(.memoryMisses(), .asking, needs: .store),
                on(.isPromoted, .asking), on(.callerAsks, .preparing),
            ],
            triesInTask([]),
            [on(.isDecided(.deliver), .obtained), on(.ends, .over)]
        ),
        Playbook(
            "the content of a stored response is lost, and the cache asks again",
            byEvents: false,
            begins(.cache),
            [
                on(.memoryMisses(), .lookingUp, needs: .store), on(.callerAsks, .preparing),
            ],
            triesInTask([]),
            [
                on(.isDecided(.deliver), .obtained), on(.callerAsks, .preparing),
            ],
            triesInTask([]),
            [on(.isDecided(.deliver), .obtained), on(.ends, .over)]
        ),
        Playbook(
            "a PURGE is served by a task, before anything else is checked",
            [
                on(.arrives(.other("PURGE")), .arrived), on(.isAdmitted, .matched),
                on(.matches(.purge, owner: true), .matched, needs: .purge),
                on(.isPromoted, .matched),
                on(.matches(.purge, owner: true), .matched, needs: .purge), on(.ends, .over),
            ]
        ),
    ]

    /// What rules and the client's user make necessary, whoever gives the response.
    static let others: [Playbook] =
        [RequestHandler.rule, .cache, .origin].flatMap { handler in
            let before = Array(begins(handler).prefix(2))
            let last = Array(begins(handler).suffix(1))
            return [
                Playbook(
                    "the client's user is asked for before \(handler)",
                    before,
                    [
                        on(.matches(handler, owner: true), .matched, needs: .unknownClient),
                        on(.isPromoted, .matched), on(.matches(handler, owner: true), .matched),
                        on(.passes(handler, owner: true), .matched, needs: .unknownClient),
                    ],
                    last
                ),
                Playbook(
                    "another user is refused before \(handler)",
                    before,
                    [
                        on(.matches(handler, owner: true), .matched, needs: .unknownClient),
                        on(.isPromoted, .matched), on(.matches(handler, owner: true), .matched),
                        on(.passes(handler, owner: true), .matched, needs: .unknownClient),
                        on(.fails, .failed), on(.ends, .over),
                    ]
                ),
                Playbook(
                    "short timeouts are watched by a task before \(handler)",
                    before,
                    [
                        on(
                            .matches(handler, demands: .shortTimeout),
                            .matched,
                            needs: .shortTimeout
                        ),
                        on(.isPromoted, .matched),
                        on(.matches(handler, demands: .shortTimeout), .matched),
                    ],
                    last
                ),
                Playbook(
                    "steps that wait for nothing need no task before \(handler)",
                    before,
                    [on(.matches(handler, demands: .steps), .matched)],
                    last
                ),
                Playbook(
                    "a delay needs a task before \(handler)",
                    before,
                    [
                        on(.matches(handler, demands: .delay), .matched, needs: .demand),
                        on(.isPromoted, .matched), on(.matches(handler, demands: .delay), .matched),
                    ],
                    last
                ),
            ]
        } + [
            Playbook(
                "a rule's file is read in a task",
                Array(begins(.rule).prefix(2)),
                [
                    on(.matches(.rule, demands: .file), .matched, needs: .demand),
                    on(.isPromoted, .matched),
                    on(.matches(.rule, demands: .file), .matched), on(.passes(.rule), .answering),
                    on(.ends, .over),
                ]
            ),
            Playbook(
                "a tape is played in a task, whatever rules demand",
                Array(begins(.origin).prefix(2)),
                [
                    on(.matches(.tape, demands: .delay, owner: true), .matched, needs: .demand),
                    on(.isPromoted, .matched),
                    on(.matches(.tape, demands: .delay, owner: true), .matched, needs: .demand),
                    on(.ends, .over),
                ]
            ),
        ]
}
