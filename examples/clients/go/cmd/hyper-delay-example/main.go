// hyper-delay-example schedules tasks on a hyper-delay server, or takes them from it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hyperdelay"
)

const usage = `Usage:
  hyper-delay-example produce [-addr HOST:PORT] [-route ROUTE] [-count N] [-delay DURATION] [-size BYTES]
                              [-compress none|lz4|zstd] [TLS]
  hyper-delay-example consume [-addr HOST:PORT] [-route ROUTE] [-count N] [TLS]

produce schedules N tasks (10), each to be due after the delay (1s), with payloads of BYTES or more. consume prints
the deliveries of the route and acknowledges them; after N it ends, and without -count it goes on.

TLS is -tls, or one or more of -tls-ca FILE, -tls-cert FILE and -tls-key FILE, -tls-name NAME. A token is read from
HYPER_DELAY_TOKEN, or else from the file that HYPER_DELAY_TOKEN_FILE names.
`

// options are those of both subcommands.
type options struct {
	addr, route string
	count       int
	delay       time.Duration
	size        int
	compress    string
	encrypted   bool
	tls         hyperdelay.TLS
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var run func(context.Context, *hyperdelay.Client, options) error
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flags.StringVar(&o.addr, "addr", "127.0.0.1:7000", "")
	flags.StringVar(&o.route, "route", "demo", "")
	flags.BoolVar(&o.encrypted, "tls", false, "")
	flags.StringVar(&o.tls.CAFile, "tls-ca", "", "")
	flags.StringVar(&o.tls.CertFile, "tls-cert", "", "")
	flags.StringVar(&o.tls.KeyFile, "tls-key", "", "")
	flags.StringVar(&o.tls.ServerName, "tls-name", "", "")
	switch os.Args[1] {
	case "produce":
		run = produce
		flags.IntVar(&o.count, "count", 10, "")
		flags.DurationVar(&o.delay, "delay", time.Second, "")
		flags.IntVar(&o.size, "size", 0, "")
		flags.StringVar(&o.compress, "compress", hyperdelay.None, "")
	case "consume":
		run = consume
		flags.IntVar(&o.count, "count", 0, "")
	default:
		fmt.Fprintf(os.Stderr, "no subcommand %q: take produce or consume\n\n%s", os.Args[1], usage)
		os.Exit(2)
	}
	_ = flags.Parse(os.Args[2:]) // ExitOnError
	if flags.NArg() > 0 || o.count < 0 {
		fmt.Fprintf(os.Stderr, "stray argument %q, or a negative count\n\n%s", flags.Args(), usage)
		os.Exit(2)
	}
	if err := connectAnd(run, o); err != nil {
		log.Fatalf("hyper-delay-example: %v", err)
	}
}

func connectAnd(run func(context.Context, *hyperdelay.Client, options) error, o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dialer := hyperdelay.Dialer{Logf: log.Printf, Compress: o.compress}
	if o.encrypted || o.tls != (hyperdelay.TLS{}) {
		dialer.TLS = &o.tls
	}
	if 0 < o.count && o.count < 64 {
		dialer.Credit = o.count // No more than are wanted.
	}
	client, err := dialer.Dial(ctx, o.addr)
	if err != nil {
		return err
	}
	defer client.Close()
	err = run(ctx, client, o)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}
