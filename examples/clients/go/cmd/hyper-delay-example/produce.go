package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hyperdelay"
)

// producers is how many tasks are under way at a time: the server commits them together.
const producers = 64

// payload is a text, with dots up to the size that was asked for.
func payload(number int, o options) []byte {
	text := fmt.Sprintf("task %d of %d, from Go", number, o.count)
	if missing := o.size - len(text); missing > 0 {
		text += strings.Repeat(".", missing)
	}
	return []byte(text)
}

func produce(ctx context.Context, client *hyperdelay.Client, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for i := 1; i <= o.count; i++ {
			select {
			case numbers <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var all sync.WaitGroup
	var first sync.Once
	var failure error
	for i := 0; i < producers; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range numbers {
				_, err := client.Schedule(ctx, hyperdelay.Task{
					Route:   o.route,
					FireAt:  time.Now().Add(o.delay),
					Payload: payload(number, o),
				})
				if err != nil {
					first.Do(func() { failure = err })
					cancel()
				}
			}
		}()
	}
	all.Wait()
	if failure == nil {
		failure = ctx.Err()
	}
	if failure == nil {
		fmt.Printf("scheduled %d tasks on route %s, due after %v\n", o.count, o.route, o.delay)
	}
	return failure
}
