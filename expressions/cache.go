// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"sync"

	"github.com/google/cel-go/cel"
)

// maxCached is how many bytes the programs of a cache take, about.
const maxCached = 64 << 20

// Cache compiles expressions and keeps the programs, as many as take some tens of megabytes. It is safe for
// concurrent use; the zero value is an empty one.
type Cache struct {
	mu       sync.Mutex
	programs map[cacheKey]func() (*Program, error) // some may still be compiled
	held     int
}

type cacheKey struct {
	env        *Environment
	text, want string
}

// Compile gives what [Environment.Compile] does. A text is compiled once by all that ask for it in the
// meantime, and nobody waits for another. Errors are not kept.
func (c *Cache) Compile(env *Environment, text string, want *cel.Type) (*Program, error) {
	return c.get(cacheKey{env, text, want.String()}, func() (*Program, error) { return env.Compile(text, want) })
}

func (c *Cache) get(key cacheKey, compile func() (*Program, error)) (*Program, error) {
	c.mu.Lock()
	program, ok := c.programs[key]
	if !ok {
		program = sync.OnceValues(func() (*Program, error) {
			compiled, err := compile()
			c.keep(key, compiled, err)
			return compiled, err
		})
		if c.programs == nil {
			c.programs = map[cacheKey]func() (*Program, error){}
		}
		c.programs[key] = program
	}
	c.mu.Unlock()
	return program()
}

// keep counts what was compiled. When it is too much, the cache begins anew.
func (c *Cache) keep(key cacheKey, compiled *Program, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		delete(c.programs, key)
		return
	}
	if c.held += compiled.held; c.held > maxCached {
		clear(c.programs)
		c.held = 0
	}
}

// Len is how many programs are kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.programs)
}
