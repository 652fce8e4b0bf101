// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// kind says what follows from an outcome.
type kind int

const (
	// proceeds: the next step runs.
	proceeds kind = iota
	// completes: nothing is left to do, the pass ends well.
	completes
	// waits: the pass ends, something else has to happen first.
	waits
	// fails: the pass ends, an attempt failed.
	fails
	// rests: the pass ends, a step that failed is not to be repeated yet. Nothing changes.
	rests
	// aborts: the pass ends and nothing is recorded, because the host cluster refused a
	// write, or the process must stop.
	aborts
)

// outcome is what a step returns.
type outcome struct {
	kind kind
	// condition that the outcome speaks of; "" when it has nothing to say. Ready means the
	// summary alone.
	condition string
	reason    string
	message   string
	// underWay is true for a wait in the middle of a sync: what was applied before is no
	// longer all there is.
	underWay bool
	// stuck is true for a failure that only a change of input can mend.
	stuck bool
	// soon is true for a failure that is likely to pass by itself within seconds.
	soon bool
	// within is how long a failure waits for its next attempt at most; 0: as long as failures do.
	within time.Duration
	// inputs is the fingerprint of what the attempt was made with, if the pass went on from there;
	// the zero value: that of all that the pass has found.
	inputs [sha256.Size]byte
	// unjudged is true for a wait for health that nobody knows: it may be the observer that cannot reach
	// the target, which says nothing against what was applied.
	unjudged bool
	// silent is true for a rest after which the summary stays as it is, too.
	silent bool
	// after is when the pass is repeated at the latest; 0: when an event comes.
	after time.Duration
	// blockedBy names what is waited for.
	blockedBy []string
	// err is the cause of a failure, for logs and retries.
	err error
	// step is the name of the step, attempt what is repeated when it failed. Set by the pass.
	step, attempt string
}

// next goes on with the next step.
func next() outcome { return outcome{} }

// holds goes on with the next step and sets a condition to True.
func holds(condition, reason, message string) outcome {
	return outcome{condition: condition, reason: reason, message: message}
}

// complete ends the pass well and sets Applied to True.
func complete(message string) outcome {
	return outcome{kind: completes, condition: corev1alpha1.ConditionApplied, reason: corev1alpha1.ReasonApplied, message: message}
}

// wait ends the pass before a sync began, until an event comes.
func wait(condition, reason, message string) outcome {
	return outcome{kind: waits, condition: condition, reason: reason, message: message}
}

// waitUnderWay ends the pass in the middle of a sync, for d at most if d is not 0.
func waitUnderWay(reason, message string, d time.Duration) outcome {
	return outcome{
		kind: waits, condition: corev1alpha1.ConditionApplied, reason: reason, message: message, underWay: true, after: d,
	}
}

// fail ends the pass: the attempt failed and is repeated with backoff.
func fail(condition, reason string, err error) outcome {
	return outcome{kind: fails, condition: condition, reason: reason, message: err.Error(), err: err}
}

// stuck ends the pass: the attempt failed, and is not repeated before its input changes.
func stuck(condition, reason, message string) outcome {
	return outcome{kind: fails, condition: condition, reason: reason, message: message, stuck: true}
}

// abort ends the pass and leaves the record as it is.
func abort(err error) outcome { return outcome{kind: aborts, err: err} }
