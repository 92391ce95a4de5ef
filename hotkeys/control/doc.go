// Package control decides which keys are hot enough to act on, and when to
// stop. Its input is the demand of the keys in completed windows, its output
// the transitions of a small state machine per key. It imports nothing of ours,
// reads no clock and takes no lock: the same input gives the same output.
//
//	          >= H                 K windows >= H and ready
//	normal ---------> warming --------------------------------> hot
//	   ^                 | < H: the warm-up is cancelled          |
//	   +-----------------+                                        |
//	   ^         after the hold, M windows <= L                   |
//	   +----------------------------------------------------------+
//
// Two thresholds and two dwell counts stand between a noisy estimate and a
// decision: between L and H nothing changes, and one window alone changes
// nothing that costs anything. docs/controller.md explains how to choose them.
//
// # Evidence
//
//   - A window at or above H turns a normal key warming, and is the first of the
//     K consecutive ones that it takes to be hot. A window below H ends the
//     warm-up: the key is normal again.
//   - A key is hot once it has K windows and is ready. Without
//     [Settings.WarmupAck] every key is ready; with it those are that
//     [Controller.Ready] was called for while they were warming.
//   - An emergency stands for all K windows, and never for readiness. It is a
//     window at or above [Settings.Emergency], or a call of
//     [Controller.Emergency]. A window that began before such a call does not
//     end the warm-up that the call began: it averages over a time before it.
//   - A hot key stays so for [Settings.HoldNs] from the moment it is hot, which
//     is when it is ready and not when its demand first crossed H. Of the
//     windows that begin at or after the hold's end, M consecutive ones at or
//     below L turn it normal. Any window above L begins the count anew.
//   - A window that is not known, or is missing between two others, says
//     nothing: every key keeps its state, and all counts begin anew. So does a
//     change of a threshold or of the metric.
//   - A key that a window does not list has at most the window's floor. If that
//     is below H it ends a warm-up, if it is at or below L it counts for
//     demotion; a floor too high for that makes the window unknown to the key.
//     It never counts for promotion.
//   - A pinned key is hot until it is unpinned and then demoted by windows like
//     any other, or by the operator.
//
// # Events
//
// Each transition has an [Event]. A key on its way to hot is always told to be
// warming first, in the same call if it is hot at once; only a pin skips that.
// An emergency is told before what it leads to. [Transition.Alert] says whether
// to publish it: see [Settings.CooldownNs].
//
// # Limits
//
// At most [KeysMax] keys are warming or hot, with at most [NameBytesMax] bytes
// of names. The hottest of a window come first; keys beyond that stay normal,
// and are counted in [Totals.Refused]. As many keys that are normal again are
// remembered for the cooldown of their alerts; those beyond may be alerted
// early.
package control
