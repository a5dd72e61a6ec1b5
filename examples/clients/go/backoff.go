package hyperdelay

import (
	"context"
	"math/rand"
	"time"
)

// backoff computes the wait between connection attempts. It doubles with each failure and is drawn
// evenly from its upper half, so that the clients of one server do not all reconnect at the same
// moment.
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

// pause waits for d. It returns false if ctx ended first.
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
