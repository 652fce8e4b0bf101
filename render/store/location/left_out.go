// SPDX-License-Identifier: Apache-2.0

//go:build convoy_without_s3 || convoy_without_gs || convoy_without_azblob

package location

import "errors"

// errLeftOut says that a scheme was left out of this program.
var errLeftOut = errors.New("it was left out when this program was built")
