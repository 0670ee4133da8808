        const int depth = sc->pixel_layout[1];

        // pixel layout
        mxf_write_local_tag(s, 16, 0x3401);
        avio_write(pb, sc->pixel_layout, 16);

        // component max ref
        mxf_write_local_tag(s, 4, 0x3406);
        avio_wb32(pb, (1 << depth) - 1);

        // component min ref
        mxf_write_local_tag(s, 4, 0x3407);
        avio_wb32(pb, 0);
