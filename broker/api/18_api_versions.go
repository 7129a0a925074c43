package api

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/wire"
)

// ApiVersions, versions 0 to 3. It is the one API that answers versions it does not
// know: UNSUPPORTED_VERSION in the form of version 0, with its own row, so that the
// client can try again. The body of such a request is not looked at.
//
// Left out: features; there are none at inter-broker protocol 2.6 (epoch -1).

// softwareName is what a client's name and version must look like from version 3 on.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (a *API) apiVersions(c *call) {
	row, _ := wire.Lookup(keyAPIVersions)
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.FinalizedFeaturesEpoch = -1
	if !row.Contains(c.version()) {
		resp.Version = 0
		resp.ErrorCode = int16(kafkaerr.UnsupportedVersion)
		resp.ApiKeys = versionRows([]wire.VersionRange{row})
		c.respondAs(resp)
		return
	}
	var req kmsg.ApiVersionsRequest
	if !c.decode(&req) {
		return
	}
	if req.Version >= 3 && !(softwareName.MatchString(req.ClientSoftwareName) && softwareName.MatchString(req.ClientSoftwareVersion)) {
		resp.ErrorCode = int16(kafkaerr.InvalidRequest)
	} else {
		resp.ApiKeys = versionRows(wire.Served())
	}
	c.respond(resp)
}

func versionRows(rows []wire.VersionRange) []kmsg.ApiVersionsResponseApiKey {
	out := make([]kmsg.ApiVersionsResponseApiKey, 0, len(rows))
	for _, r := range rows {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = r.Key, r.Min, r.Max
		out = append(out, k)
	}
	return out
}
