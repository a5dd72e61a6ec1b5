package hyperdelay

import "context"

// Cancelled is what Cancel found.
type Cancelled struct {
	// Found is false if there was no such task. It may also be false if the connection was lost before the answer, and the
	// request had to be sent again.
	Found bool `json:"found"`
	// InFlight tells that a consumer has the task at this moment. Its acknowledgement then removes nothing.
	InFlight bool `json:"in_flight"`
}

// Cancel removes a task, and returns when that is on the server's disk.
func (c *Client) Cancel(ctx context.Context, route, id string) (Cancelled, error) {
	var reply Cancelled
	err := c.do(ctx, request{Kind: "cancel", Route: route, ID: id}, nil, &reply)
	return reply, err
}

// StatsQuery says which routes Stats lists: all from the first on, if it is empty.
type StatsQuery struct {
	// Route, if there is one, is the only route that is listed.
	Route string
	// After is a name: the routes that come after it are listed.
	After string
}

// Counts are numbers of tasks by their state.
type Counts struct {
	Waiting  int64 `json:"waiting"`
	Parked   int64 `json:"parked"`
	InFlight int64 `json:"in_flight"`
	Dead     int64 `json:"dead"`
}

// Stats are the counts of a server.
type Stats struct {
	Counts
	Connections int64        `json:"connections"`
	UnknownAcks int64        `json:"unknown_acks"`
	Routes      []RouteStats `json:"routes"`
	// More tells that there are other routes: ask again, After the last one.
	More bool `json:"more"`
}

// RouteStats are the counts of a route.
type RouteStats struct {
	Route string `json:"route_key"`
	Counts
	Consumers int64 `json:"consumers"`
}

// Stats asks for the server's counts.
func (c *Client) Stats(ctx context.Context, query StatsQuery) (Stats, error) {
	var reply Stats
	err := c.do(ctx, request{Kind: "stats", Route: query.Route, After: query.After}, nil, &reply)
	return reply, err
}

// Ping returns when the server has answered.
func (c *Client) Ping(ctx context.Context) error {
	var reply struct{}
	return c.do(ctx, request{Kind: "ping"}, nil, &reply)
}
