package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hyperdelay"
)

// consumer takes count tasks and no more. It counts those whose removal the server confirmed.
type consumer struct {
	count int

	mu          sync.Mutex
	taken, done int
}

func consume(ctx context.Context, client *hyperdelay.Client, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := consumer{count: o.count}
	err := client.Listen(ctx, o.route, func(ctx context.Context, d *hyperdelay.Delivery) error {
		if !c.take() {
			return hyperdelay.RetryAfter(100*time.Millisecond, nil)
		}
		fmt.Printf("%s attempt %d, %v late: %s\n", d.ID, d.Attempt, time.Since(d.FireAt).Round(time.Millisecond), d.Payload)
		removed, err := d.Ack(ctx)
		if c.settle(err == nil && removed) {
			cancel()
		}
		return err
	})
	if errors.Is(err, context.Canceled) && c.count > 0 && c.done == c.count {
		fmt.Printf("acknowledged %d deliveries on route %s\n", c.done, o.route)
		return nil
	}
	return err
}

func (c *consumer) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count > 0 && c.taken == c.count {
		return false
	}
	c.taken++
	return true
}

// settle tells whether that was the last one.
func (c *consumer) settle(removed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !removed {
		c.taken--
		return false
	}
	c.done++
	return c.done == c.count
}
