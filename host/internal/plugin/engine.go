package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// compileWorkers halve the time that compiling takes; more would take it from others.
const compileWorkers = 2

// engine is what executes one module: its machine code, and the host's functions beside it.
type engine struct {
	wazero   wazero.Runtime
	cache    wazero.CompilationCache // nil: none
	compiled wazero.CompiledModule
	offered  map[string]map[string]api.FunctionDefinition // host functions by module and name
}

// newEngine compiles a metered module. dir is its directory in the compile cache, or empty.
func newEngine(ctx context.Context, wasm []byte, pages uint32, dir string) (_ *engine, err error) {
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	e := &engine{offered: map[string]map[string]api.FunctionDefinition{}}
	defer func() {
		// The compiler works on the guest's input. What it trips over is no reason for all to end, where
		// it can be caught: in its workers it can't.
		if r := recover(); r != nil {
			err = fmt.Errorf("compiling module: the compiler failed: %v", r)
		}
		if err != nil {
			err = errors.Join(err, e.close(ctx))
		}
	}()
	if dir != "" {
		if e.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, fmt.Errorf("opening compile cache: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.wazero = wazero.NewRuntimeWithConfig(ctx, config)
	for _, instantiate := range []func(context.Context, wazero.Runtime) (api.Module, error){
		instantiateHost, instantiateMeter, instantiateWASI,
	} {
		module, err := instantiate(ctx, e.wazero)
		if err != nil {
			return nil, fmt.Errorf("making host functions: %w", err)
		}
		e.offered[module.Name()] = module.ExportedFunctionDefinitions()
	}
	e.compiled, err = e.wazero.CompileModule(experimental.WithCompilationWorkers(ctx, compileWorkers), wasm)
	if err != nil {
		return nil, fmt.Errorf("compiling module: %w", err)
	}
	return e, nil
}

// close gives everything back, also the machine code: nothing of the engine may be running.
func (e *engine) close(ctx context.Context) error {
	var errs []error
	if e.wazero != nil {
		errs = append(errs, e.wazero.Close(ctx))
	}
	if e.cache != nil {
		errs = append(errs, e.cache.Close(ctx))
	}
	return errors.Join(errs...)
}

// compile is newEngine with the cache, and without it when that fails: the directory may be full,
// pruned by another process, or hold a damaged file. Compiling does not look at a context, so when
// ctx ends it goes on in the background.
func (r *Runtime) compile(ctx context.Context, wasm []byte, pages uint32) (*engine, error) {
	type result struct {
		engine *engine
		err    error
	}
	done := make(chan result)
	started := r.spawn(func() {
		e, err := r.compileCached(context.WithoutCancel(ctx), wasm, pages)
		select {
		case done <- result{e, err}:
		case <-ctx.Done():
			if e == nil {
				return
			}
			if err := e.close(context.WithoutCancel(ctx)); err != nil {
				r.logger.Warn("closing an engine that nobody waited for", "err", err)
			}
		}
	})
	if !started {
		return nil, faultf(KindClosed, "the plugin runtime is closed")
	}
	select {
	case got := <-done:
		return got.engine, got.err
	case <-ctx.Done():
		return nil, fmt.Errorf("compiling module: %w", ctx.Err())
	}
}

func (r *Runtime) compileCached(ctx context.Context, wasm []byte, pages uint32) (*engine, error) {
	if r.cache == nil {
		return newEngine(ctx, wasm, pages, "")
	}
	dir, err := r.cache.use(wasm)
	if err == nil {
		var e *engine
		if e, err = newEngine(ctx, wasm, pages, dir); err == nil {
			if err := r.cache.prune(); err != nil {
				r.logger.Warn("the compile cache stays larger than it should", "err", err)
			}
			return e, nil
		}
	}
	e, plainErr := newEngine(ctx, wasm, pages, "")
	if plainErr != nil {
		return nil, plainErr
	}
	if dir != "" {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	r.logger.Warn("the compile cache did not work for a module", "err", err)
	return e, nil
}
