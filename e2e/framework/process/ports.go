// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range out of which systems give ports to
// outgoing connections, so that nobody sits on the port of a process while it
// is being killed and started again.
const (
	firstPort = 20000
	lastPort  = 29999
)

// FreePorts returns n different ports on which nothing listens at 127.0.0.1.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	// All are held open until the last is found, so none is found twice.
	for tries := 0; len(ports) < n && tries < 100*n; tries++ {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close()
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.New("no free ports on 127.0.0.1")
	}
	return ports, nil
}
