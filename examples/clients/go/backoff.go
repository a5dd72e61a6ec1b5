package hyperdelay

import (
	"context"
	"math/rand"
	"time"
)

// backoff is the wait between two tries to connect: doubled with each failure, drawn evenly from its upper half, so that
// clients that lost one server do not come back at one moment.
type backoff struct {
	min, max time.Duration
	failures int
	random   *rand.Rand
}

func newBackoff(min, max time.Duration) *backoff {
	return &backoff{min: min, max: max, random: rand.New(rand.NewSource(time.Now().UnixNano()))}
}

func (b *backoff) next() time.Duration {
	wait := b.min
	for i := 0; i < b.failures && wait < b.max; i++ {
		wait *= 2
	}
	b.failures++
	if wait > b.max {
		wait = b.max
	}
	return wait/2 + time.Duration(b.random.Int63n(int64(wait/2)+1))
}

func (b *backoff) reset() { b.failures = 0 }

// pause waits for d and tells whether it came to its end before ctx did.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
