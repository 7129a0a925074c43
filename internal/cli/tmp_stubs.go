package cli

import "context"

func runTopics(context.Context, *env, []string) error       { return nil }
func runDumpLog(context.Context, *env, []string) error      { return nil }
func runProducerPerf(context.Context, *env, []string) error { return nil }
func runConsumerPerf(context.Context, *env, []string) error { return nil }
